"""How Sphinx builds the manual; `make docs` runs it on a copy of the pages (tools/manual)."""

import re
import warnings
from importlib.metadata import version as of_package

project = "speedcube"
copyright = "the authors of speedcube"
version = release = of_package("speedcube")
extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
exclude_patterns = ["_files"]
highlight_language = "none"

myst_heading_anchors = 6  # GitHub's names of headings
nb_execution_mode = "off"  # tests execute the programs: in pytest, and as notebooks by nbmake

autodoc_default_options = {"show-inheritance": False}
autodoc_typehints = "none"
autodoc_preserve_defaults = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
python_use_unqualified_type_names = True

html_theme = "pydata_sphinx_theme"
html_title = "speedcube"
html_copy_source = False
html_show_sourcelink = False
html_theme_options = {
    "use_edit_page_button": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 9,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "article_footer_items": [],
}
default_role = "code"  # a name in single backticks
warnings.filterwarnings("ignore", category=DeprecationWarning)


def as_text(app, what, name, thing, options, lines):
    """Docstrings as they are meant: stars and underscores that no mark-up is meant by."""
    for k, line in enumerate(lines):
        line = re.sub(r":ref:`(.*?)`", r"\1", line)  # NumPy's labels are its own
        line = re.sub(r"(?<=\()\*(?=\w)", r"\\*", line)
        lines[k] = line if "`" in line else re.sub(r"(?<=\w)_(?=\W|$)", r"\\_", line)


def setup(app):
    app.connect("autodoc-process-docstring", as_text, priority=900)
