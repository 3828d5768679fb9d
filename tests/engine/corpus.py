"""Hostile, broken and odd submissions, each with the exercises it deserves points for.

Every entry is graded beside an honest one, which must keep all its points.
"""

from dataclasses import dataclass, field

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell

from .lesson import ALL, TESTS, find

WRONG = {
    "double": "def double(n):\n    return 0",
    "count_up": "def count_up(n):\n    return None",
    "average": "def average(values):\n    return -1.0",
    "ask_model": "def ask_model(model, prompt):\n    return []",
    "quiz": 'quiz = "C"',
}


@dataclass(frozen=True)
class Entry:
    """One submission of the corpus.

    deserves  exercises that earn their points
    answers   answers that differ from the right ones; first, last, between: see lesson.submission
    tamper    changes the notebook in place
    files     {name: content} beside the notebook
    problem   kind of a problem that must be reported
    """

    name: str
    deserves: frozenset
    answers: dict = field(default_factory=dict)
    first: str = ""
    last: str = ""
    between: dict = field(default_factory=dict)
    tamper: object = None
    files: dict = field(default_factory=dict)
    problem: str = ""


def _less(*names):
    return ALL - set(names)


def _wrong(name, deserves=frozenset(), **more):
    return Entry(name, frozenset(deserves), answers=WRONG, **more)


def _one(name, exercise, source, **more):
    """An attack by one answer, which deserves nothing for it."""
    return Entry(name, _less(exercise), answers={exercise: source}, **more)


# -- changes of the notebook ---------------------------------------------------------------------


def _tests(notebook):
    return [c for c in notebook.cells
            if c.metadata.get("nbgrader", {}).get("grade_id", "").startswith("test_")]  # fmt: skip


def skip_tag(notebook):
    for cell in _tests(notebook):
        cell.metadata["tags"] = ["skip-execution"]


def delete_tests(notebook):
    notebook.cells = [c for c in notebook.cells if c not in _tests(notebook)]


def edit_tests(notebook):
    for cell in _tests(notebook):
        cell.source = "pass"


def duplicate_tests(notebook):
    for cell in _tests(notebook):
        twin = new_code_cell("pass", metadata=cell.metadata)
        notebook.cells.insert(notebook.cells.index(cell), twin)


def retype_tests(notebook):
    for cell in _tests(notebook):
        number = notebook.cells.index(cell)
        notebook.cells[number] = new_markdown_cell(cell.source, metadata=cell.metadata)


def more_points(notebook):
    for cell in _tests(notebook):
        cell.metadata["nbgrader"]["points"] = 100


def not_graded(notebook):
    for cell in _tests(notebook):
        cell.metadata["nbgrader"] |= {"grade": False, "solution": True, "locked": False}


def forged_outputs(notebook):
    for cell in _tests(notebook):
        cell.outputs = [{"output_type": "execute_result", "data": {"text/plain": "1"},
                         "metadata": {}, "execution_count": 1}]  # fmt: skip


def swap_ids(notebook):
    for cell in _tests(notebook):
        cell.metadata["nbgrader"]["grade_id"] = "test_quiz"


def odd_metadata(notebook):
    notebook.cells[0].metadata["nbgrader"] = "surprise"
    notebook.cells[1].metadata["nbgrader"] = {"grade_id": ["a", "list"]}
    notebook.metadata["widgets"] = {"state": "<script>"}


def answer_claims_test(notebook):
    """An answer cell that carries the metadata of the test behind it."""
    number = find(notebook, "double")
    notebook.cells[number].metadata["nbgrader"] = notebook.cells[
        find(notebook, "test_double")
    ].metadata["nbgrader"]


def test_by_content_only(notebook):
    for cell in _tests(notebook):
        cell.metadata = type(cell.metadata)()


def saved_by_colab(notebook):
    """Ids of its own, in the metadata too; nbgrader's are gone."""
    notebook.metadata = nbformat.from_dict({"colab": {"provenance": []}, "accelerator": "GPU"})
    for number, cell in enumerate(notebook.cells):
        cell.metadata = nbformat.from_dict({"id": f"x-{number}_Q", "outputId": "8f-1"})
        cell["id"] = f"x-{number}_Q"


def saved_by_vs_code(notebook):
    for number, cell in enumerate(notebook.cells):
        cell["id"] = f"{number:08x}"
        cell.metadata["vscode"] = {"languageId": "python"}
    notebook.metadata["language_info"] = {"name": "python", "version": "3.12.1"}
    notebook.metadata["kernelspec"] = {"name": "my-env", "display_name": "my-env (3.12.1)"}


def saved_by_deepnote(notebook):
    notebook.metadata = nbformat.from_dict({"deepnote": {}, "deepnote_notebook_id": "3f" * 16})
    for number, cell in enumerate(notebook.cells):
        cell.metadata = nbformat.from_dict(
            {"cell_id": f"{number:032x}", "deepnote_cell_type": "code", "source_hash": "b6"}
        )
        cell["id"] = f"{number:032x}"


def half_characters(notebook):
    """Texts that no file in UTF-8 can hold."""
    notebook.cells.append(new_markdown_cell("half \ud800 a character"))
    notebook.cells.append(new_code_cell("print('\\udcff')  # \udfff\nraise ValueError('\\ud800')"))


def two_thousand_cells(notebook):
    notebook.cells += [new_code_cell(f"x{n} = {n}") for n in range(2000)]


def hundred_cells(notebook):
    notebook.cells += [new_code_cell("x = 1") for _ in range(100)]


def reversed_cells(notebook):
    notebook.cells.reverse()


# -- pieces of attack code -------------------------------------------------------------------------

_LIAR = """
class Liar:
    def _yes(self, *args): return True
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = _yes
    def _zero(self, *args): return 0
    __sub__ = __rsub__ = __abs__ = __add__ = __radd__ = __mul__ = __len__ = _zero
    def __float__(self): return 3.0
    def __int__(self): return 4
    def __index__(self): return 4
    def __hash__(self): return 0
    def __array__(self, *args, **kwargs):
        import numpy
        return numpy.array(3.0)
    def __array_ufunc__(self, *args, **kwargs): return True
    def __array_function__(self, *args, **kwargs): return True
"""

_FIND_SOCKET = """
import os, stat, json, struct
def sockets():
    found = []
    for fd in range(3, 256):
        try:
            if stat.S_ISSOCK(os.fstat(fd).st_mode):
                found.append(fd)
        except OSError:
            pass
    return found
def forge(text, blob=b"", magic=b"grd1", length=None):
    head = struct.pack(">4sII", magic, len(text) if length is None else length, len(blob))
    for fd in sockets():
        os.write(fd, head + text + blob)
"""


def _forging(call):
    return f"{_FIND_SOCKET}\ndef double(n):\n    {call}\n    return 0"


def _liar_subclass(base, value):
    return f"""
class Liar({base}):
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __sub__(self, other): return 0
    __rsub__ = __sub__
    __hash__ = {base}.__hash__
    def __len__(self): return 4
    def __iter__(self): return iter([0, 1, 2, 3])
def double(n): return Liar({value})
"""


CORPUS = [
    # The notebook itself.
    _wrong("skip-execution tag on the tests", tamper=skip_tag),
    _wrong("tests deleted", tamper=delete_tests, problem="deleted"),
    _wrong("tests edited", tamper=edit_tests, problem="edited_test"),
    _wrong("tests duplicated", tamper=duplicate_tests, problem="duplicate"),
    _wrong("tests turned into Markdown", tamper=retype_tests, problem="retyped"),
    _wrong("a hundred points for each test", tamper=more_points),
    _wrong("tests marked as answers", tamper=not_graded),
    _wrong("outputs of full points written into the tests", tamper=forged_outputs),
    _wrong("all tests claim to be the quiz's", tamper=swap_ids),
    _wrong("tests without metadata", tamper=test_by_content_only, problem="metadata"),
    Entry("metadata of the wrong types", ALL, tamper=odd_metadata),
    Entry("an answer that claims to be its test", ALL, tamper=answer_claims_test),
    Entry("right answers, tests deleted", ALL, tamper=delete_tests, problem="deleted"),
    Entry("a hundred more cells", ALL, tamper=hundred_cells),
    Entry("all cells in reverse order", ALL, tamper=reversed_cells, problem="order"),
    # What a notebook shows.
    _wrong("displayhook", first="import sys\nsys.displayhook = lambda value: print(1)"),
    _wrong("IPython hooks", first="shell = get_ipython()\nshell.ast_transformers = []\n"
           "shell.run_cell = lambda *a, **k: None\n"
           "shell.input_transformers_post.append(lambda lines: [])"),
    _wrong("own execute_result printed", first="print('1')\n1"),
    # Objects that lie.
    _one("liar: bare object", "double", _LIAR + "def double(n): return Liar()"),
    _one("liar: list wanted", "count_up", _LIAR + "def count_up(n): return Liar()"),
    _one("liar: number wanted", "average", _LIAR + "def average(values): return Liar()"),
    _one("liar: quiz", "quiz", _LIAR + "quiz = Liar()"),
    _one("liar: int subclass", "double", _liar_subclass("int", 5)),
    _one("liar: float subclass", "double", _liar_subclass("float", 5.0)),
    _one("liar: str subclass", "quiz", "class Liar(str):\n"
         "    def __eq__(self, other): return True\n    __hash__ = str.__hash__\n"
         "quiz = Liar('C')"),
    _one("liar: list subclass", "count_up", "class Liar(list):\n"
         "    def __eq__(self, other): return True\n    def __len__(self): return 4\n"
         "def count_up(n): return Liar()"),
    _one("liar: array subclass", "average", "import numpy as np\n"
         "class Liar(np.ndarray):\n    def __sub__(self, other): return 0.0\n"
         "    def __array_ufunc__(self, *a, **k): return True\n"
         "def average(values): return np.array(9.0).view(Liar)"),
    _one("liar: says it is an int", "double", _LIAR + "class Int(Liar):\n"
         "    __class__ = int\ndef double(n): return Int()"),
    _one("liar: object array", "average", _LIAR + "import numpy as np\n"
         "def average(values): return np.array(Liar(), dtype=object)"),
    _one("liar: infinite list", "count_up", "class Liar:\n    def __len__(self): return 4\n"
         "    def __getitem__(self, i): return i\ndef count_up(n): return Liar()"),
    # Patching what the tests use.
    _wrong("builtins patched", first="import builtins\nbuiltins.all = lambda *a: True\n"
           "builtins.len = lambda x: 4\nbuiltins.abs = lambda x: 0\n"
           "builtins.AssertionError = type('E', (Exception,), {})"),
    _wrong("numpy patched", first="import numpy as np\nnp.testing.assert_allclose = print\n"
           "np.allclose = np.isclose = lambda *a, **k: True"),
    _wrong("a thread that patches later", first="import threading, time, builtins\n"
           "def later():\n    while True:\n        builtins.all = any\n        time.sleep(0.01)\n"
           "threading.Thread(target=later, daemon=True).start()"),
    _wrong("a module that shadows numpy", files={"numpy.py": "testing = None", "math.py": "1/0"},
           first="import sys\nsys.path.insert(0, '.')\nsys.modules.pop('numpy', None)"),
    _wrong("a module for the name of the tests' one", first="import types\n"
           "np = types.ModuleType('numpy')\nnp.testing = np\n"
           "np.assert_allclose = lambda *a: None"),
    _wrong("names of the tests set before", first="secret_cases = []\ncalls = [[5, 6], [5, 6, 1]]\n"
           "wanted = given = None\nanswer = [20, 30]"),
    # Reading the tests.
    _one("reads the caller's frame", "double", "import sys\ndef double(n):\n"
         "    frame = sys._getframe()\n    while frame:\n"
         "        for space in (frame.f_globals, frame.f_locals):\n"
         "            if 'wanted' in space: return space['wanted']\n"
         "        frame = frame.f_back\n    return 4 if n == 2 else 0"),
    _one("reads the tests' names", "double", "wanted = None\nsecret_cases = []\n"
         "def double(n):\n    import __main__\n    if n == 2: return 4\n"
         "    return dict(globals().get('secret_cases') or []).get(n)"),
    _one("searches the memory", "double", "import gc\ndef double(n):\n    if n == 2: return 4\n"
         "    for obj in gc.get_objects():\n"
         "        if isinstance(obj, tuple) and len(obj) == 2 and obj[0] == n:\n"
         "            if obj[1] == 2 * n: return obj[1]\n    return 0"),
    _one("asks the model for its insides", "ask_model", "def ask_model(model, prompt):\n"
         "    for name in ('__globals__', '__closure__', '__code__', '__self__', 'gi_frame',\n"
         "                 '__class__', '__func__', '__wrapped__', '__getattribute__'):\n"
         "        try:\n            found = getattr(model, name)\n"
         "            found.clear(); found['calls'] = [[5, 6], [5, 6, 1]]\n"
         "        except Exception: pass\n    return [20, 30]"),
    _one("counts its own calls", "ask_model", "def ask_model(model, prompt):\n"
         "    try: model.calls = [[5, 6], [5, 6, 1]]\n    except AttributeError: pass\n"
         "    return [20, 30]"),
    _one("changes the prompt", "ask_model", "def ask_model(model, prompt):\n"
         "    first = model(prompt)\n    prompt.append(1)\n    return [first, model(prompt)]"),
    _one("looks for the tests on disk", "double", "import os\ndef double(n):\n"
         "    for root, _, names in os.walk('/'):\n        if root.startswith(('/proc', '/usr')):\n"
         "            continue\n        for name in names:\n"
         "            if name.endswith(('.ipynb', '.db')):\n"
         "                text = open(os.path.join(root, name)).read()\n"
         "                if 'secret_cases' in text: return 2 * n\n    return 4 if n == 2 else 0"),
    # Ending, hanging, flooding.
    _one("os._exit in an answer", "double", "import os\ndef double(n): os._exit(0)"),
    _one("sys.exit in an answer", "double", "import sys\ndef double(n): sys.exit(0)"),
    _one("raises SystemExit as a class", "double", "def double(n): raise SystemExit"),
    _one("kills all it can see", "double", "import os, signal\n"
         "def double(n): os.kill(-1, signal.SIGKILL)"),
    _one("kills process 1", "double", "import os, signal\ndef double(n):\n"
         "    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):\n"
         "        try: os.kill(1, number)\n        except OSError: pass\n    return 0"),
    _one("an endless loop", "double", "def double(n):\n    while True: pass", problem=""),
    _one("a loop that swallows interrupts", "double", "import signal\ndef double(n):\n"
         "    for number in range(1, 32):\n"
         "        try: signal.signal(number, signal.SIG_IGN)\n        except OSError: pass\n"
         "    while True:\n        try:\n            while True: pass\n"
         "        except BaseException: pass"),
    Entry("an endless cell", ALL, last="while True: pass", problem="timeout"),
    Entry("os._exit in a cell", ALL, first="import os\nos._exit(1)", problem="crashed"),
    _one("an endless iterator", "count_up", "import itertools\n"
         "def count_up(n): return itertools.count()"),
    _one("endless recursion", "double", "def double(n): return double(n)"),
    _one("a list that holds itself", "count_up", "def count_up(n):\n    a = []\n    a.append(a)\n"
         "    return a"),
    _one("a very deep list", "count_up", "def count_up(n):\n    a = []\n"
         "    for _ in range(100000): a = [a]\n    return a"),
    _one("a very large list", "count_up", "def count_up(n): return [0] * 30_000_000"),
    _one("a very large number", "double", "def double(n): return 10 ** 100_000"),
    Entry("floods its output", ALL, first="import os\nfor _ in range(20000):\n"
          "    print('x' * 1000)\n    os.write(1, b'y' * 1000)"),
    _one("prints during a test", "double", "def double(n):\n"
         "    print('secret', n)\n    return 0"),
    _one("ends in a thread", "double", "import threading, os\ndef double(n):\n"
         "    threading.Thread(target=os._exit, args=(0,)).start()\n    return 0"),
    # Bounds.
    _one("a memory bomb", "double", "def double(n):\n    kept = []\n"
         "    while True: kept.append(bytearray(10_000_000))"),
    _one("memory in many processes", "double", "import os\ndef double(n):\n"
         "    for _ in range(20):\n        if os.fork() == 0:\n"
         "            kept = bytearray(b'x' * 200_000_000)\n            while True: pass\n"
         "    while True: pass"),
    _one("a fork bomb", "double", "import os\ndef double(n):\n    while True:\n"
         "        try: os.fork()\n        except OSError: pass"),
    Entry("fills the disk", ALL, first="import os\ntry:\n    for i in range(100):\n"
          "        with open(f'f{i}', 'wb') as f: f.write(b'x' * 10_000_000)\n"
          "except OSError: pass"),
    Entry("uses up its descriptors", ALL, first="import os\nkept = []\ntry:\n"
          "    while True: kept.append(os.open('/dev/null', 0))\nexcept OSError:\n"
          "    for fd in kept[-20:]: os.close(fd)"),
    Entry("leaves processes behind", ALL, first="import os, time\nif os.fork() == 0:\n"
          "    os.setsid()\n    if os.fork() == 0:\n        time.sleep(1000)\n    os._exit(0)"),
    # The connection to the tests.
    _one("forged reply", "double", _forging('forge(b\'["ok",4,[]]\')'
         "\n    forge(b'[\"ok\",14,[]]')")),
    _one("garbage on the connection", "double", _forging("forge(b'x' * 1000, magic=b'evil')")),
    _one("oversized reply", "double", _forging("forge(b'[]', length=2**32 - 1)")),
    _one("half a reply", "double", _forging("forge(b'[\"ok\"', length=1000)\n"
         "    while True: pass")),
    _one("deeply nested reply", "double", _forging("forge(b'[' * 100000 + b']' * 100000)")),
    _one("deep value", "double", _forging("v = '[\"l\",[' * 90 + '0' + ']]' * 90\n"
         "    forge(('[\"ok\",' + v + ',[]]').encode())")),
    _one("object that was never passed", "double",
         _forging('forge(b\'["ok",["own",99],[]]\')')),
    _one("changes of what was not passed", "double",
         _forging('forge(b\'["ok",4,[[7,["l",[]]]]]\')')),
    _one("module as a value", "double", _forging('forge(b\'["ok",["m","os"],[]]\')')),
    _one("built-in by name", "double", _forging('forge(b\'["ok",["g","builtins","eval"],[]]\')')),
    _one("asks the tests' session", "double",
         _forging('forge(b\'["do",null,"cell",["1",0],{}]\')')),
    _one("pickle as a value", "double", _forging("import pickle\n"
         "    forge(b'[\"ok\",[\"b\",0,4],[]]', pickle.dumps(print))")),
    _one("array of objects", "double",
         _forging('forge(b\'["ok",["a","|O",[1],0,8],[]]\', b"12345678")')),
    _one("array with a false shape", "double",
         _forging('forge(b\'["ok",["a","<f8",[1000000000],0,8],[]]\', b"12345678")')),
    _one("flood of requests", "double", _forging(
        'for _ in range(100000): forge(b\'["do",1,"call",[],{}]\')')),
    _one("closes the connection", "double", _FIND_SOCKET + "def double(n):\n"
         "    for fd in sockets(): os.close(fd)\n    return 4"),
    _one("replaces the session's encoder", "double", "import inside.wire as wire\n"
         "def double(n):\n    wire.Encoder.encode = lambda self, value: ['own', 1]\n    return 0"),
    _one("a reply byte by byte", "double", _forging("import time\n"
         "    for byte in struct.pack('>4sII', b'grd1', 9, 0) + b'[\"ok\",4,0':\n"
         "        for fd in sockets(): os.write(fd, bytes([byte]))\n        time.sleep(0.3)")),
    _one("replies from a thread, all the time", "double", _FIND_SOCKET + "import threading\n"
         "def flood():\n    while True: forge(b'[\"ok\",4,[]]')\n"
         "def double(n):\n    threading.Thread(target=flood, daemon=True).start()\n    return 0"),
    _one("a hundred thousand objects", "count_up", "def count_up(n):\n"
         "    return [object() for _ in range(100_000)]"),
    _one("a dictionary with itself inside", "count_up", "def count_up(n):\n    d = {}\n"
         "    d['d'] = [d]\n    return d"),
    _one("names and texts of a megabyte", "double", "def double(n):\n"
         "    raise type('E' * 1_000_000, (Exception,), {})('x' * 1_000_000)"),
    _one("an error whose text never comes", "double", "class E(Exception):\n"
         "    def __str__(self):\n        while True: pass\ndef double(n): raise E()"),
    _wrong("kills all it can see, from a thread", first="import os, signal, threading, time\n"
           "def kill():\n    while True:\n        for name in os.listdir('/proc'):\n"
           "            if name.isdecimal() and int(name) != os.getpid():\n"
           "                try: os.kill(int(name), signal.SIGKILL)\n"
           "                except OSError: pass\n        time.sleep(0.01)\n"
           "threading.Thread(target=kill, daemon=True).start()"),
    _one("stops itself", "double", "import os, signal\n"
         "def double(n): os.kill(os.getpid(), signal.SIGSTOP)"),
    _one("uses up descriptors in an answer", "double", "import os\ndef double(n):\n"
         "    kept = []\n    while True: kept.append(os.pipe())"),
    _one("slow drip", "count_up", "import time\nclass Slow:\n"
         "    def __iter__(self):\n        while True:\n            time.sleep(0.2)\n"
         "            yield 0\n    def __len__(self): return 4\n"
         "    def __getitem__(self, i):\n        time.sleep(1)\n        return i\n"
         "def count_up(n): return Slow()"),
    # Honest, with accidents.
    Entry("saved by Colab", ALL, tamper=saved_by_colab, problem="metadata"),
    Entry("saved by VS Code", ALL, tamper=saved_by_vs_code),
    Entry("saved by Deepnote", ALL, tamper=saved_by_deepnote, problem="metadata"),
    Entry("half characters", ALL, tamper=half_characters),
    Entry("two thousand more cells", ALL, tamper=two_thousand_cells),
    Entry("LaTeX in plots and texts", ALL, first="import matplotlib.pyplot as plt\n"
          "plt.plot([1, 2], label=r'$\\alpha < \\frac{1}{2}$')\nplt.legend()\nplt.show()"),
    _one("input() in an answer", "double", "def double(n): return 2 * int(input('n?'))"),
    Entry("warnings on standard error", ALL, answers={"double": "import warnings, sys\n"
          "def double(n):\n    warnings.warn('careful')\n    print('note', file=sys.stderr)\n"
          "    return 2 * n"}),
    Entry("prints, plots, magics, help, input", ALL, first="%matplotlib inline\n"
          "import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()\nprint?\n!ls\n"
          "from IPython.display import display, HTML\ndisplay(HTML('<b>x</b>'))\n",
          last="name = input('who?')"),
    Entry("numpy integers and booleans", ALL, answers={"double": "import numpy as np\n"
          "def double(n): return np.int64(2 * n)"}),
    Entry("an error in a cell of its own", ALL, first="1 / 0", last="undefined_name"),
    Entry("a syntax error in a cell of its own", ALL, first="def broken(:\n"),
    Entry("top-level await", ALL, first="import asyncio\nawait asyncio.sleep(0)"),
    Entry("a file of its own", ALL, files={"data/numbers.txt": "1 2 3"},
          first="numbers = open('data/numbers.txt').read().split()\nassert len(numbers) == 3",
          answers={"quiz": "quiz = {'3': 'B'}[numbers[-1]]"}),
    Entry("recursion within an answer", ALL, answers={"count_up":
          "def count_up(n):\n    return [] if n == 0 else count_up(n - 1) + [n - 1]"}),
    _one("a generator where a list was wanted", "count_up",
         "def count_up(n):\n    yield from range(n)"),
    Entry("an untouched lesson", frozenset(),
          answers=dict.fromkeys(ALL, "raise NotImplementedError()")),
    _one("a name that is missing", "double", "pass"),
    Entry("a helper used by two answers", ALL, first="def twice(x): return x + x",
          answers={"double": "def double(n): return twice(n)"}),
    _one("a name of a test as an answer", "quiz", TESTS["quiz"]),
]  # fmt: skip
