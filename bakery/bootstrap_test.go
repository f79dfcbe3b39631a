package bakery_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aibox/bakery"
	"aibox/bakery/bakerytest"
	"aibox/internal/fault"
)

// fakeMmdebstrap puts a script named mmdebstrap first in PATH.
func fakeMmdebstrap(t *testing.T, script string) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mmdebstrap"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":/usr/bin:/bin")
}

func TestWithoutARegistryDebianIsBootstrappedFromTheHostsMirror(t *testing.T) {
	lastStep := filepath.Join(t.TempDir(), "args")
	fakeMmdebstrap(t, `printf '%s\n' "$@" >`+lastStep+`; echo a root`)
	fake := &bakerytest.Fake{}
	o := bakery.Options{Host: bakery.Host{Mirror: bakery.Mirror{Main: "http://a.example/debian", Security: "http://s.example/sec"}}}
	k := builder(t, fake, files(), o)
	var got recorder
	if _, err := k.Bake(t.Context(), []string{"agent"}, &got); err != nil {
		t.Fatal(err)
	}
	args, err := os.ReadFile(lastStep)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"--variant=minbase", "--keyring=/usr/share/keyrings/debian-archive-keyring.gpg", "--\nbookworm\n-\n",
		"\ndeb http://a.example/debian bookworm main\n", "\ndeb http://s.example/sec bookworm-security main\n",
	} {
		if !strings.Contains(string(args), want) {
			t.Errorf("no %q in %q", want, args)
		}
	}
	if e := got.find(bakery.StepSkipped); e == nil || !strings.Contains(e.Err, "no such host") {
		t.Errorf("the registry's silence is not reported: %+v", got.events)
	}
	if base := fake.Builds()[0].Args["BASE"]; base != bakery.BaseSourceRefs(k)[1] {
		t.Errorf("built on %s", base)
	}
}

// apt, which mmdebstrap runs, knows only the lowercase names.
func TestTheBootstrapHasTheProxiesByBothOfTheirNames(t *testing.T) {
	file := filepath.Join(t.TempDir(), "env")
	fakeMmdebstrap(t, `env >`+file+`; echo a root`)
	o := bakery.Options{Host: bakery.Host{Proxies: map[string]string{"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": ".example"}}}
	if _, err := builder(t, &bakerytest.Fake{}, files(), o).Bake(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
	env, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"HTTP_PROXY=http://proxy.example:3128", "http_proxy=http://proxy.example:3128", "NO_PROXY=.example", "no_proxy=.example"} {
		if !slices.Contains(strings.Split(string(env), "\n"), want) {
			t.Errorf("no %q in %q", want, env)
		}
	}
}

// A private folder is closed to the ids as which mmdebstrap builds the system.
func TestTheBootstrapUsesAFolderForTemporaryFilesThatIsOpenToAll(t *testing.T) {
	dir, err := os.MkdirTemp("/var/tmp", "aibox-test-") // all users can enter its parents
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	t.Setenv("TMPDIR", dir)
	env := filepath.Join(dir, "env")
	private, link := filepath.Join(dir, "private"), filepath.Join(dir, "link")
	if err := errors.Join(os.MkdirAll(filepath.Join(private, "open"), 0o700), os.Chmod(filepath.Join(private, "open"), 0o777|os.ModeSticky),
		os.Symlink("private/open", link)); err != nil {
		t.Fatal(err)
	}
	bake := func() string {
		fakeMmdebstrap(t, `env >`+env+`; echo a root`)
		if _, err := builder(t, &bakerytest.Fake{}, files(), bakery.Options{}).Bake(t.Context(), nil, nil); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(env)
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	for mode, passed := range map[os.FileMode]bool{0o777 | os.ModeSticky: true, 0o777: false, 0o700: false, 0o755: false} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		if got := bake(); strings.Contains(got, "TMPDIR="+dir+"\n") != passed {
			t.Errorf("with the mode %v: %q", mode, got)
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", link)
	if got := bake(); strings.Contains(got, "TMPDIR="+link) {
		t.Errorf("with a link into a private folder: %q", got)
	}
}

func TestABaseWithoutSecurityUpdatesIsNoted(t *testing.T) {
	for mirror, noted := range map[bakery.Mirror]bool{
		{Main: "http://a.example/debian"}: true, {Main: "http://a.example/debian", Security: "http://s.example/sec"}: false, {}: false,
	} {
		fakeMmdebstrap(t, "echo a root")
		var got recorder
		if _, err := builder(t, &bakerytest.Fake{}, files(), bakery.Options{Host: bakery.Host{Mirror: mirror}}).Bake(t.Context(), nil, &got); err != nil {
			t.Fatal(err)
		}
		is := slices.ContainsFunc(got.events, func(e bakery.Event) bool {
			return e.Kind == bakery.Note && strings.Contains(e.Text, "security updates are missing")
		})
		if is != noted {
			t.Errorf("%+v: noted %t", mirror, is)
		}
	}
}

func TestFailedBootstrapTagsNoImageAndReportsWhy(t *testing.T) {
	fakeMmdebstrap(t, `echo half a root; printf 'I: working\nE: \033[2Jmirror is gone\n' >&2; exit 25`)
	fake := &bakerytest.Fake{}
	_, err := builder(t, fake, files(), bakery.Options{}).Bake(t.Context(), nil, nil)
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "exit code 25") || !strings.Contains(err.Error(), "mirror is gone") || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("error: %v", err)
	}
	if hints := strings.Join(fault.Hints(err), "\n"); !strings.Contains(hints, "no such host") || !strings.Contains(hints, "--base IMAGE") {
		t.Errorf("hints: %q", hints)
	}
	if _, err := fake.Image(t.Context(), bakery.BaseSourceRefs(builder(t, fake, files(), bakery.Options{}))[1]); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("half a root has a name: %v", err)
	}
}

func TestMissingMmdebstrapErrorNamesTheInstallCommand(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := builder(t, &bakerytest.Fake{}, files(), bakery.Options{}).Bake(t.Context(), nil, nil)
	if fault.KindOf(err) != fault.Environment || !strings.Contains(strings.Join(fault.Hints(err), "\n"), "apt-get install -y mmdebstrap") {
		t.Errorf("error: %v, hints %q", err, fault.Hints(err))
	}
}

func TestCanceledBootstrapEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	fakeMmdebstrap(t, "echo part of a root; exec sleep 600")
	fake := &bakerytest.Fake{}
	k := builder(t, fake, files(), bakery.Options{})
	_, err := k.Bake(ctx, nil, cancelOnStart{cancel})
	if !errors.Is(err, context.Canceled) || fault.KindOf(err) != fault.Interrupted {
		t.Errorf("error: %v", err)
	}
	if _, err := fake.Image(t.Context(), bakery.BaseSourceRefs(k)[1]); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("reference: %v", err)
	}
}

func TestCanceledBootstrapLeavesNoFolder(t *testing.T) {
	dir := t.TempDir()
	root, begun := filepath.Join(dir, "root"), filepath.Join(dir, "begun")
	if err := syscall.Mkfifo(begun, 0o600); err != nil {
		t.Fatal(err)
	}
	// As mmdebstrap does, it waits for its child process at a signal, and then removes the folder.
	fakeMmdebstrap(t, `mkdir `+root+`; trap : TERM
sh -c 'trap "exit 1" TERM; : >`+begun+`; while :; do sleep 0.01; done'
rmdir `+root+`; exit 1`)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		if file, err := os.Open(begun); err == nil { // waits for the child process
			_ = file.Close()
		}
		cancel()
	}()
	if _, err := builder(t, &bakerytest.Fake{}, files(), bakery.Options{}).Bake(ctx, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is left: %v", err)
	}
}

// cancelOnStart cancels when the bootstrap begins.
type cancelOnStart struct{ cancel func() }

func (c cancelOnStart) Handle(e bakery.Event) {
	if e.Kind == bakery.StepStarted && strings.HasPrefix(e.Text, "bootstrapping") {
		c.cancel()
	}
}
