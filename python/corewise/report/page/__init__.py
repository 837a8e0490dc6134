"""Every web page of corewise, by one builder: profiles, placements, call graphs, benchmarks, papers.

`shell` is the page with its tabs, hints, themes and print; the other modules make sections for it. A page is
one file that asks nothing of the network. The same input gives the same page, but for the time that it bears.

SPDX-License-Identifier: BSD-3-Clause
"""
