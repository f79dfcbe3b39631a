package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// hostileServer is a curl that downloads a replaced runsc with a matching checksum.
const hostileServer = `#!/bin/sh
while [ "$1" != -o ]; do shift; done
case $2 in
*.sha512) printf 'echo replaced' | sha512sum | sed 's/ -/ runsc/' >"$2" ;;
*) printf 'echo replaced' >"$2" ;;
esac
`

func TestAReleaseThatItsServerHasReplacedIsRefused(t *testing.T) {
	m := newMachine(t, map[string]string{"bin/curl": hostileServer})
	got := m.run(`is_pinned() { really_is_pinned "$@"; }; as_root() { echo "root: $*"; }; make_runsc`)
	if got.code != 3 || !strings.Contains(got.err, "does not match the SHA-512 that this script pins") || strings.Contains(got.out, "root:") {
		t.Errorf("exit code %d, %q, %q", got.code, got.out, got.err)
	}
}

func TestWhyRunscCannotBeDownloadedIsReported(t *testing.T) {
	const withoutGo = "command() { [[ ${*: -1} != go ]] && builtin command \"$@\"; }\n"
	for fails, wants := range map[string][]string{
		"echo 'curl: (60) SSL certificate problem: certificate is not yet valid' >&2; echo 'More details here' >&2; exit 60": {
			"(60) SSL certificate problem: certificate is not yet valid), and cannot build it without Go", "try: check the clock", "SSL_CERT_FILE",
		},
		"echo 'curl: (56) Received HTTP code 407 from proxy after CONNECT' >&2; exit 56": {"HTTP code 407 from proxy", "try: check the proxy", "try: install Go"},
		"echo 'curl: (6) Could not resolve host' >&2; exit 6":                            {"(6) Could not resolve host), and", "try: install Go"},
		"while [ \"$1\" != -o ]; do shift; done; echo half >\"$2\"; echo 'curl: (18) transfer closed' >&2; exit 18": {
			"interrupted: (18) transfer closed", "try: run this again",
		},
	} {
		m := newMachine(t, map[string]string{"bin/curl": "#!/bin/sh\n" + fails + "\n"})
		got := m.run(withoutGo + "make_runsc")
		for _, want := range wants {
			if got.code != 3 || !strings.Contains(got.err, want) {
				t.Errorf("%s: exit code %d, and %q is missing in\n%s", fails, got.code, want, got.err)
			}
		}
	}
}

// Some machines forbid programs in /tmp.
func TestRunscIsTestedInTheFolderWhereItIsInstalled(t *testing.T) {
	m := newMachine(t, map[string]string{"bin/curl": "#!/bin/sh\nwhile [ \"$1\" != -o ]; do shift; done\nprintf '#!/bin/sh\\necho started as \"$0\" >>ROOT/calls\\n[ ! -e ROOT/broken ] || { echo wrong machine; exit 1; }\\n' >\"$2\"\n"})
	m.write("bin/curl", strings.ReplaceAll(m.read("bin/curl"), "ROOT", m.root))
	const pinned = "is_pinned() { true; }\n"
	m.write("broken", "")
	got := m.run(pinned + "make_runsc")
	files, err := filepath.Glob(filepath.Join(m.root, "usr/local/lib/aibox/*"))
	if got.code != 3 || !strings.Contains(got.err, "wrong machine") || err != nil || len(files) != 0 {
		t.Errorf("exit code %d, %q; installed are %q, %v", got.code, got.err, files, err)
	}
	if err := os.Remove(filepath.Join(m.root, "broken")); err != nil {
		t.Fatal(err)
	}
	m.must(pinned + "make_runsc")
	if m.read(runsc) == "" || m.read(runsc+".new") != "" || strings.Contains(m.read("calls"), m.root+"/tmp/") {
		t.Errorf("not installed, or not tested there: %q", m.read("calls"))
	}
}

func TestARunscThatDiffersFromThePinnedOneIsInstalledAgain(t *testing.T) {
	for name, lines := range map[string]string{
		"unchanged":                "",
		"changed":                  "echo changed >$root/" + runsc,
		"writable by its group":    "chmod 0775 $root/" + runsc,
		"writable by all":          "chmod 0757 $root/" + runsc,
		"for another architecture": "is_pinned() { really_is_pinned \"$@\"; }",
	} {
		m := newMachine(t, map[string]string{runsc: ""})
		got := m.must(lines + "\nneed_runsc")
		if (got == "") != (lines == "") {
			t.Errorf("%s: needs %q", name, got)
		}
	}
}

// TestSourceWithAnotherHashIsNotBuilt uses a Go that downloads a replaced module, as if the
// checks against Go's checksum database were off.
func TestSourceWithAnotherHashIsNotBuilt(t *testing.T) {
	const program = `#!/bin/sh
echo "go $*, $GOFLAGS" >>ROOT/calls
case $1 in
mod) mkdir -p "$GOMODCACHE/gvisor" && echo "{\"Dir\": \"$GOMODCACHE/gvisor\", \"Sum\": \"SUM\"}" ;;
build) touch ROOT/built ;;
esac
`
	for sum, built := range map[string]bool{"h1:Zy8IV/+FMLxy6j6p87vk/vQGKcdnbprwjTxc8UiUtsA=": true, "h1:replaced=": false, "": false} {
		m := newMachine(t, nil)
		m.write("bin/go", strings.NewReplacer("ROOT", m.root, "SUM", sum).Replace(program))
		got := m.run(`build_runsc "$scratch"`)
		_, err := os.Stat(filepath.Join(m.root, "built"))
		if (err == nil) != built || (got.code == 0) != built {
			t.Errorf("%q: built: %v, exit code %d, %q", sum, err == nil, got.code, got.err)
		}
		if !built && !strings.Contains(got.err, "and not the pinned h1:Zy8IV") {
			t.Errorf("%q: printed %q", sum, got.err)
		}
		if calls := m.read("calls"); !strings.Contains(calls, "-mod=readonly") {
			t.Errorf("go was called as %q", calls)
		}
	}
}
