"""Ways in which a notebook tries to act in the browser of whoever opens it.

Each asks the server for `beacon-NAME`; a test watches for that.
"""

import base64
import json

import anywidget
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_output, new_raw_cell

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5Erk"
    "Jggg=="
)


def fire(name):
    """Return JavaScript without quotes, angles or spaces that asks for the beacon."""
    return f"fetch(/beacon-{name}/.source)"


def _image(name):
    return f"<img src=x onerror={fire(name)}>"


MARKDOWN = {
    "script": f"<script>{fire('script')}</script>",
    "script-upper": f"<ScRiPt >{fire('script-upper')}</sCrIpT >",
    "image": _image("image"),
    "image-lines": f"<img\nsrc=x\nonerror={fire('image-lines')}\n>",
    "image-slash": f"<img/src=x/onerror={fire('image-slash')}>",
    "image-quoted": f'<img alt="a>b" src="x" onerror="{fire("image-quoted")}">',
    "image-in-list": f"- one\n  - two {_image('image-in-list')}",
    "image-in-quote": f"> > {_image('image-in-quote')}",
    "image-in-table": f"| a |\n|---|\n| {_image('image-in-table')} |",
    "image-in-heading": f"# {_image('image-in-heading')}",
    "image-in-emphasis": f"**bold {_image('image-in-emphasis')}**",
    "image-in-link": f"[{_image('image-in-link')}](x)",
    "image-in-title": f"[x](y '{_image('image-in-title')}')",
    "image-in-alt": f"![{_image('image-in-alt')}](x.png)",
    "image-in-math": f"$x{_image('image-in-math')}$",
    "image-in-display": f"$$\n{_image('image-in-display')}\n$$",
    "image-in-equation": f"\\begin{{equation}}\n{_image('image-in-equation')}\n\\end{{equation}}",
    "image-in-fence": f"```\n{_image('image-in-fence')}\n```",
    "image-in-mermaid": f"```mermaid\n</pre>{_image('image-in-mermaid')}\n```",
    "image-after-comment": f"<!--><img src=x onerror={fire('image-after-comment')}>-->",
    "image-after-comment-2": f"<!-- --!>{_image('image-after-comment-2')} -->",
    "image-after-style": f"<style></style>{_image('image-after-style')}",
    "image-after-cdata": f"<![CDATA[>{_image('image-after-cdata')}]]>",
    "image-after-instruction": f"<?x >{_image('image-after-instruction')}?>",
    "image-entity": f"&lt;img src=x onerror={fire('image-entity')}&gt;",
    "svg": f"<svg onload={fire('svg')}></svg>",
    "svg-script": f"<svg><script>{fire('svg-script')}</script></svg>",
    "mathml": f"<math><mtext><img src=x onerror={fire('mathml')}></mtext></math>",
    "details": f"<details open ontoggle={fire('details')}>x</details>",
    "frame": f"<iframe srcdoc='<script>parent.{fire('frame')}</script>'></iframe>",
    "frame-script": f"<iframe src=javascript:parent.{fire('frame-script')}></iframe>",
    "object": f"<object data=javascript:{fire('object')}></object>",
    "video": f"<video><source onerror={fire('video')}></video>",
    "focus": f"<input autofocus onfocus={fire('focus')}>",
    "animation": f"<style>@keyframes k{{}}</style><b style=animation:k onanimationstart="
    f"{fire('animation')}>x</b>",
    "tag-handler": f"<b onmouseover={fire('tag-handler')} onclick={fire('tag-handler')}>x</b>",
    "link": f"<a href=javascript:{fire('link')}>x</a>",
    "link-plain": f"[x](javascript:{fire('link-plain')})",
    "link-entity": f"[x](&#106;avascript:{fire('link-entity')})",
    "link-escape": f"[x](java\\script:{fire('link-escape')})",
    "link-tab": f"[x](<java\tscript:{fire('link-tab')}>)",
    "link-angle": f"[x](<javascript:{fire('link-angle')}>)",
    "link-reference": f"[x][evil]\n\n[evil]: javascript:{fire('link-reference')}",
    "link-reference-line": f"[x][ev]\n\n> [ev]:\n>  javascript:{fire('link-reference-line')}",
    "link-automatic": f"<javascript:{fire('link-automatic')}>",
    "link-data": f"[x](data:text/html,<script>{fire('link-data')}</script>)",
    "latex-link": f"$\\href{{javascript:{fire('latex-link')}}}{{x}}$",
    "latex-macro": f"$\\def\\z{{\\href}}\\z{{javascript:{fire('latex-macro')}}}{{x}}$",
    "latex-attribute": f"$\\mmlToken{{mi}}[onclick={fire('latex-attribute')}]{{x}}$",
    "latex-data": f"$\\data{{onclick={fire('latex-data')}}}{{x}}$",
    "remote": "<img src='http://tracker.invalid/beacon-remote.png'>",
    "remote-plain": "![x](http://tracker.invalid/beacon-remote-plain.png)",
    "remote-short": "![x](//tracker.invalid/beacon-remote-short.png)",
    "remote-reference": "![x][pix]\n\n[pix]: http://tracker.invalid/beacon-remote-reference.png",
    "remote-style": "<b style='background:url(http://tracker.invalid/beacon-remote-style)'>x</b>",
    "refresh": "<meta http-equiv=refresh content='0;url=/beacon-refresh'>",
    "base": "<base href=http://tracker.invalid/beacon-base/>",
}
CODE = {
    "print": f"print('\\x1b[31m</pre>{_image('print')}')",
    "value": f"class V:\n    def __repr__(self): return '{_image('value')}'\nV()",
    "raise": f"raise ValueError('\\x1b[31m</pre>{_image('raise')}')",
    "raise-named": f"raise type('{_image('raise-named')}', (Exception,), {{}})('x')",
    "raise-line": f"1 / 0  # {_image('raise-line')}",
    "show": f"from IPython.display import HTML, display\ndisplay(HTML('{_image('show')}'))",
}
_ESM = "export default {{ initialize() {{ {js} }}, render({{ el }}) {{ {js} }} }}"


def outputs():
    """Return {name: output of a code cell}."""
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' onload='{fire('out-svg')}'></svg>"
    widget = {"application/vnd.jupyter.widget-view+json": {
        "version_major": 2, "version_minor": 0, "model_id": "a" * 32}}  # fmt: skip
    data = {
        "out-html": {"text/html": f"<script>{fire('out-html')}</script>"},
        "out-image": {"text/html": _image("out-image")},
        "out-svg": {"image/svg+xml": svg},
        "out-javascript": {"application/javascript": fire("out-javascript")},
        "out-markdown": {"text/markdown": _image("out-markdown")},
        "out-latex": {"text/latex": f"${_image('out-latex')}$"},
        "out-pdf": {"application/pdf": base64.b64encode(b"%PDF-1.4 beacon-out-pdf").decode()},
        "out-png": {"image/png": f'x" onerror="{fire("out-png")}'},
        "out-widget": widget | {"text/plain": "a widget"},
    }
    return {name: new_output("display_data", bundle) for name, bundle in data.items()} | {
        "out-stream": new_output("stream", text=_image("out-stream")),
        "out-error": new_output(
            "error", ename="E", evalue="e", traceback=[f"\x1b[31m{_image('out-error')}"]
        ),
    }


def widget_state():
    """Return notebook metadata with a widget whose code runs when it is loaded."""
    state = {
        "a" * 32: {
            "model_module": "anywidget", "model_module_version": anywidget.__version__,
            "model_name": "AnyModel",
            "state": {
                "_anywidget_id": "x", "_model_module": "anywidget", "_model_name": "AnyModel",
                "_model_module_version": anywidget.__version__, "_view_module": "anywidget",
                "_view_name": "AnyView", "_view_module_version": anywidget.__version__,
                "_esm": _ESM.format(js=fire("widget-state")),
            },
        }
    }  # fmt: skip
    kind = "application/vnd.jupyter.widget-state+json"
    return {kind: {"version_major": 2, "version_minor": 0, "state": state}}


def poison(notebook):
    """Put every vector into a notebook, in place."""
    cells = [new_markdown_cell(text) for text in MARKDOWN.values()]
    for mimetype in ("", "text/html", "text/latex"):
        name = f"raw-{mimetype[5:] or 'plain'}"
        cells.append(new_raw_cell(_image(name), metadata={"raw_mimetype": mimetype}))
    for name, output in outputs().items():
        cells.append(new_code_cell(f"# </pre>{_image('code-' + name)}", outputs=[output]))
    cells += [new_code_cell(text) for text in CODE.values()]
    attached = new_markdown_cell("![x](attachment:a.svg) ![x](attachment:b.png)")
    svg = f"<svg xmlns='http://www.w3.org/2000/svg' onload='{fire('attached')}'/>"
    attached["attachments"] = {
        "a.svg": {"image/svg+xml": base64.b64encode(svg.encode()).decode()},
        "b.png": {f'image/png"onerror="{fire("attached-kind")}': PIXEL},
    }
    tagged = new_code_cell("1", metadata={"tags": [f'"><script>{fire("tag")}</script>']})
    notebook.cells += [*cells, attached, tagged]
    notebook.metadata["widgets"] = widget_state()
    notebook.metadata["title"] = f"</title><script>{fire('title')}</script>"
    notebook.metadata["language_info"] = {
        "name": f'python"><script>{fire("language")}</script>',
        "pygments_lexer": f'ipython3"><script>{fire("lexer")}</script>',
    }
    nbformat.from_dict(json.loads(json.dumps(notebook)))
    return notebook
