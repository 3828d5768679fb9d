"""Takes from a graded notebook what would act in the browser of whoever opens it.

Outputs are no matter here: the engine writes all of them itself, as text and PNG. What is left of
the student's is text. It stays as it reads: where it would make a browser act, a character without
width is put in, so that tags, links and commands are plain text for every Markdown renderer. The
hand-in itself is not touched.
"""

import base64
import binascii
import os
import re
from urllib.parse import unquote

BREAK = "\u200b"  # a space without width: "<" before it opens no tag, "](" with it no link
MAX_TEXT = 100_000  # characters of one text cell; renderers get slow on more

_KEPT_METADATA = ("nbgrader", "tags", "deletable", "editable")
_TAG = re.compile(r"[\w-]{1,60}")
_ID = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_IMAGES = {"image/png": b"\x89PNG\r\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}

# HTML that may stay: tags without attributes, and images of the notebook's own.
_PLAIN_TAGS = (
    "b|big|blockquote|br|center|code|dd|del|details|div|dl|dt|em|h[1-6]|hr|i|ins|kbd|li|mark|ol|p|"
    "pre|q|s|small|span|strong|sub|summary|sup|table|tbody|td|tfoot|th|thead|tr|u|ul|var"
)
_LOCAL_IMAGE = r"(?:attachment:|data:image/(?:png|jpeg|gif);base64,)?(?![/\\])[^\s()<>\"'`:&\\]+"
_ATTRIBUTE = (
    rf"\s+(?:src=\"{_LOCAL_IMAGE}\"|(?:width|height)=\"?\d{{1,5}}(?:px|%)?\"?|"
    r"(?:alt|title)=\"[^\"<>&\\]*\")"
)
_ALLOWED_HTML = re.compile(rf"</?(?:{_PLAIN_TAGS})\s*/?>|<img(?:{_ATTRIBUTE})+\s*/?>", re.I)
_OPENS_TAG = re.compile(r"<(?=[A-Za-z/!?])")
_OPENS_IMAGE = re.compile(r"!(?=\[)")
_ALLOWED_IMAGE = re.compile(
    rf"!\[[^\[\]<>]{{0,500}}\]\({_LOCAL_IMAGE}(?:[ \t]+\"[^\"<>&\\]*\")?[ \t]*\)"
)
_BEFORE_TARGET = re.compile(r"\](?=\(|:)")
_ALLOWED_TARGET = re.compile(
    r"\]\([ \t]*+(?:https?://|mailto:|attachment:|data:image/(?:png|jpeg|gif);base64,|\#"
    r"|[\w.%~+-]*(?:[/?#) \t]))"
    r"|\]:\s*+(?:https?://|mailto:|\#|[\w.%~+,-]*(?:[/?#\s]|$))"
)
# Commands of LaTeX that make links, styles or elements in MathJax.
_COMMAND = re.compile(
    r"\\(?=(?:href|url|require|style|class|cssId|mmlToken|data|bbox|texttip|toggle|mathtip)\b)"
)
_ATTACHMENT = re.compile(r"attachment:(?=([^\s()<>\"']*))")

_INERT_FILES = (
    "", ".bmp", ".csv", ".dat", ".gif", ".ini", ".jpeg", ".jpg", ".json", ".log", ".md", ".npy",
    ".npz", ".png", ".py", ".rst", ".toml", ".tsv", ".txt", ".yaml", ".yml",
)  # fmt: skip
_LONGEST_NAME = 240  # bytes; file systems take 255


def harmless_file_name(path):
    """Return a file's name for a folder that is served to a browser: "plot.svg.txt"."""
    suffix = os.path.splitext(path)[1].lower()
    if suffix in _INERT_FILES:
        return path
    folder, name = os.path.split(path)
    return os.path.join(folder, os.fsdecode(os.fsencode(name)[:_LONGEST_NAME]) + ".txt")


def clean_cells(cells, trusted_texts):
    """Make the cells of a graded notebook harmless, in place.

    trusted_texts  texts that are the instructor's own; cells with one of them keep it
    """
    trusted = {text.strip() for text in trusted_texts}
    for cell in cells:
        cell["metadata"] = _clean_metadata(cell["metadata"])
        if not _ID.fullmatch(str(cell.get("id", ""))):
            cell.pop("id", None)
        if cell["cell_type"] == "code":
            cell.pop("attachments", None)
        elif cell["source"].strip() not in trusted:
            _clean_text_cell(cell)


def _clean_text_cell(cell):
    text = cell["source"]
    if len(text) > MAX_TEXT:
        text = f"{text[:MAX_TEXT]}\n\n… ({len(text) - MAX_TEXT:,} more characters were left out)"
    if cell["cell_type"] == "raw":
        cell.pop("attachments", None)
        cell["source"] = _OPENS_TAG.sub(f"<{BREAK}", text)
        return
    attachments = _clean_attachments(cell.pop("attachments", None))
    if attachments:
        cell["attachments"] = attachments
    cell["source"] = harmless_markdown(text, attachments)


def harmless_markdown(text, attachments=()):
    """Return Markdown that looks the same and makes no browser act.

    attachments  names of the attached images; links to others are broken, for nbconvert refuses
                 a notebook with such a link
    """
    text = _ATTACHMENT.sub(lambda found: _attachment(found, attachments), text)
    text = _except_allowed(_OPENS_TAG, _ALLOWED_HTML, f"<{BREAK}", text)
    text = _except_allowed(_OPENS_IMAGE, _ALLOWED_IMAGE, f"!{BREAK}", text)
    text = _except_allowed(_BEFORE_TARGET, _ALLOWED_TARGET, f"]{BREAK}", text)
    return _COMMAND.sub(rf"\\{BREAK}", text)


def _except_allowed(pattern, allowed, replacement, text):
    return pattern.sub(
        lambda found: found[0] if allowed.match(text, found.start()) else replacement, text
    )


def _attachment(found, attachments):
    known = unquote(found[1]) in attachments or found[1] in attachments
    return found[0] if known else f"attachment{BREAK}:"


def _clean_attachments(attachments):
    """Return the attached images that are what they claim to be."""
    if not isinstance(attachments, dict):
        return {}
    kept = {}
    for name, bundle in attachments.items():
        if _harmless_name(name) and isinstance(bundle, dict):
            images = {kind: data for kind, data in bundle.items() if _is_image(kind, data)}
            if images:
                kept[name] = images
    return kept


def _harmless_name(name):
    if not isinstance(name, str) or not name.isprintable():
        return False
    return re.fullmatch(r"[^<>\"'`&\\]{1,200}", name) is not None


def _is_image(kind, data):
    if kind not in _IMAGES or not isinstance(data, str):
        return False
    try:
        return base64.b64decode("".join(data.split()), validate=True).startswith(_IMAGES[kind])
    except (binascii.Error, ValueError):
        return False


def _clean_metadata(metadata):
    kept = {name: metadata[name] for name in _KEPT_METADATA if name in metadata}
    if "tags" in kept:
        tags = kept["tags"] if isinstance(kept["tags"], list) else []
        kept["tags"] = [tag for tag in tags if isinstance(tag, str) and _TAG.fullmatch(tag)]
    for name in ("deletable", "editable"):
        if not isinstance(kept.get(name, True), bool):
            del kept[name]
    return type(metadata)(kept)
