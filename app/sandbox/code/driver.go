package code

import (
	"crypto/rand"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"strconv"
	"strings"
)

//go:embed drivers
var drivers embed.FS

// mode selects the action of a driver with code.
type mode string

const (
	modeRun   mode = "run"   // runs it, and exits
	modeKeep  mode = "keep"  // runs it, and waits for more
	modeCheck mode = "check" // parses it, and exits
)

// driver describes the start of a language's interpreter. The interpreter reads the
// driver's script, followed by the requests, from descriptor 3. Answers are written to
// descriptors 4 and 5, which are its standard output and error, since code may close those.
type driver struct {
	script    string   // a file in drivers
	argv      []string // command line of the interpreter
	checkArgv []string // the command line for modeCheck, if it differs
}

// loaders read the script from descriptor 3: a line with its size, and its text.
var driversOf = map[Language]driver{
	Python: {script: "python.py", argv: []string{"python3", "-c", `import os
def _read(n):
    b = b""
    while len(b) < n:
        p = os.read(3, n - len(b))
        if not p: raise SystemExit(0)
        b += p
    return b
def _line():
    b = b""
    while not b.endswith(b"\n"): b += _read(1)
    return b.decode()
exec(compile(_read(int(_line())), "<driver>", "exec"))`}},
	JavaScript: {
		script: "javascript.js",
		argv:   []string{"node", "-e", nodeLoader}, checkArgv: []string{"node", "--expose-internals", "-e", nodeLoader},
	},
	Ruby: {script: "ruby.rb", argv: []string{"ruby", "-e", `input = IO.for_fd(3, "rb", autoclose: false)
exactly = lambda { |n| b = "".b; (b << input.sysread(n - b.size)) while b.size < n; b }
line = lambda { b = "".b; b << exactly.(1) until b.end_with?("\n"); b }
eval(exactly.(line.().to_i).force_encoding("UTF-8"), binding, "driver")`}},
	Bash: {script: "bash.sh", argv: []string{"bash", "-c", `read -r -u 3 __aibox_size && __aibox_driver=$(head -c "$__aibox_size" <&3) && eval "$__aibox_driver"`}},
}

const nodeLoader = `const fs = require("fs");
const readNow = n => { const b = Buffer.alloc(n); let at = 0; while (at < n) { const got = fs.readSync(3, b, at, n - at); if (!got) process.exit(0); at += got; } return b; };
const lineNow = () => { let t = ""; while (!t.endsWith("\n")) t += readNow(1).toString("latin1"); return t; };
new Function("require", "readNow", "lineNow", readNow(parseInt(lineNow(), 10)).toString())(require, readNow, lineNow);`

// marker precedes the arguments that distinguish contexts from other processes.
const marker = "aibox-code"

// wrap and wrapKept set up the interpreter's descriptors. Code in a context has an empty
// input.
const (
	wrap     = `shift 2; exec "$@" 3<&0 4>&1 5>&2`
	wrapKept = wrap + ` </dev/null`
)

// argvOf returns the command line of an interpreter.
func argvOf(l Language, m mode) []string {
	d, script := driversOf[l], wrap
	if m == modeKeep {
		script = wrapKept
	}
	argv := d.argv
	if m == modeCheck && d.checkArgv != nil {
		argv = d.checkArgv
	}
	return append([]string{"sh", "-c", script, marker, string(l), string(m)}, argv...)
}

// contextLanguage returns the language of the context with this command line; "" if it is
// not a context.
func contextLanguage(argv []string) Language {
	if len(argv) < 6 || argv[0] != "sh" || argv[3] != marker || mode(argv[5]) != modeKeep {
		return ""
	}
	return Language(argv[4])
}

// scriptOf returns the driver's script in the form that its interpreter reads.
func scriptOf(l Language) (string, error) {
	script, err := drivers.ReadFile("drivers/" + driversOf[l].script)
	if err != nil {
		return "", err
	}
	return strconv.Itoa(len(script)) + "\n" + string(script), nil
}

// newNonce returns the secret of one request, in hexadecimal digits.
func newNonce() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// requestOf returns a request for a driver: a line, and the code.
func requestOf(nonce string, m mode, code string) io.Reader {
	return io.MultiReader(strings.NewReader(fmt.Sprintf("%s %s %d\n", nonce, m, len(code))), strings.NewReader(code))
}
