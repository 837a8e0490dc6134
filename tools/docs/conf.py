"""How Sphinx builds the site from what `stage.py` has laid out: `make docs`.

Nothing is fetched: themes and search come from packages, and search works from the file system.

SPDX-License-Identifier: BSD-3-Clause
"""

import corewise

project = "corewise"
author = "the corewise authors"
version = release = corewise.__version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["attrs_inline"]
myst_heading_anchors = 4
root_doc = "index"
html_theme = "furo"
html_title = "corewise"
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
smartquotes = False  # two hyphens are an option's name
autodoc_member_order = "bysource"
autodoc_typehints = "description"
# The pages' blocks show terminals, files and C++ side by side; none is coloured by a guess.
highlight_language = "text"
