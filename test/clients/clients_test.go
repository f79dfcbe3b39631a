// Package clients tests the clients of the API in clients/ against the real server on
// sandboxes that are folders of this machine.
package clients

import (
	"context"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"aibox/api/auth"
	"aibox/api/server"
	"aibox/api/store"
	"aibox/bakery"
	"aibox/bakery/docker"
	"aibox/dockerfiles"
	"aibox/internal/paths"
	"aibox/session"

	aiboxv1 "aibox/api/aibox/v1"
)

// The tokens of the tests: one with all rights, one that can only read.
const (
	token     = "aibox_test"
	readToken = "aibox_read"
)

// copies is a folder for programs that tests share.
var copies string

func TestMain(m *testing.M) {
	var err error
	if copies, err = os.MkdirTemp("", "aibox-clients-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(copies)
	os.Exit(code)
}

type tokens struct{}

func (tokens) Authenticate(_ context.Context, given string) (auth.Caller, error) {
	switch given {
	case token:
		return auth.Caller{Tenant: "tests", Rights: auth.Rights(), Token: "t1"}, nil
	case readToken:
		return auth.Caller{Tenant: "tests", Rights: []aiboxv1.Right{aiboxv1.Right_RIGHT_READ}, Token: "t2"}, nil
	}
	return auth.Caller{}, store.ErrUnauthenticated
}

func (t tokens) Caller(ctx context.Context, id string) (auth.Caller, error) {
	return t.Authenticate(ctx, map[string]string{"t1": token, "t2": readToken}[id])
}

// startServer starts a server on a Unix socket and a port, and returns the environment that
// the clients' tests need, and the address of the port.
func startServer(t *testing.T) (env []string, address string) {
	t.Helper()
	dir := t.TempDir()
	m := &machines{dir: dir}
	s, err := server.New(server.Options{
		Services: server.Services{
			Sandboxes: m, Processes: m, Code: m,
			Files: func(_ context.Context, id session.ID, _ string) server.Files {
				return folder{filepath.Join(dir, string(id))}
			},
		},
		Tokens: tokens{},
	})
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "run", "aibox.sock")
	local, unlock, err := server.ListenUnix(socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 2)
	go func() { ended <- s.Serve(ctx, listener, nil, time.Second) }()
	go func() { ended <- s.Serve(ctx, local, nil, time.Second) }()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
		unlock()
	})
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LANG=C.UTF-8",
		"AIBOX_URL=http://" + listener.Addr().String(), "AIBOX_TOKEN=" + token, "AIBOX_TEST_READ_TOKEN=" + readToken,
		"AIBOX_TEST_SOCKET=" + socket,
		"AIBOX_TEST_CUT_URL=" + cutStreams(t, listener.Addr().String()),
	}, listener.Addr().String()
}

func run(t *testing.T, env []string, dir, name string, args ...string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, name, args...)
	command.Dir, command.Env, command.WaitDelay = dir, env, time.Second
	out, err := command.CombinedOutput()
	if err != nil {
		t.Errorf("%s %v: %v\n%s", name, args, err, out)
	}
	t.Logf("%s", out)
}

func TestPythonClientDoesWhatItsTestsSay(t *testing.T) {
	env, address := startServer(t)
	env = append(env, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1", "AIBOX_TEST_CUT_ASYNC_URL="+cutStreams(t, address))
	run(t, env, "../../clients/python", "python3", "-m", "unittest", "discover", "-v", "-s", "tests")
}

// The client's sources run in a Node that strips types, such as that of aibox's base image.
func TestTypeScriptClientDoesWhatItsTestsSay(t *testing.T) {
	env, _ := startServer(t)
	run(t, env, "../../clients/typescript", node(t), "--test", "test/client.test.ts", "test/connection.test.ts", "test/values.test.ts")
}

// The compiler is a package that npm installs from the lock file.
func TestTypeScriptClientHasNoErrorsOfTypes(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../clients/typescript")); err != nil {
		t.Fatal(err)
	}
	npm, path := npm(t)
	env := append(os.Environ(), "npm_config_cache="+t.TempDir(), "PATH="+path)
	run(t, env, dir, npm[0], append(npm[1:], "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")...)
	run(t, env, dir, npm[0], append(npm[1:], "run", "check")...)
}

// Both clients look for the server where it listens without options.
func TestClientsFindTheSocketOfTheServer(t *testing.T) {
	const inPython = "from aibox._protocol import default_socket; print(default_socket(), end='')"
	const inTypeScript = `import { defaultSocket } from "./src/node.ts"; process.stdout.write(await defaultSocket(process.env))`
	program := node(t)
	own, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	for _, variables := range []map[string]string{
		{"HOME": own.HomeDir, "XDG_RUNTIME_DIR": "/run/user/1"},
		{"HOME": own.HomeDir},
		{"HOME": "/elsewhere", "XDG_RUNTIME_DIR": "/run/user/1"},
		{"HOME": "/elsewhere"},
		{"HOME": own.HomeDir, "XDG_STATE_HOME": "/state/", "XDG_RUNTIME_DIR": "/run/user/1"},
		{"HOME": own.HomeDir, "XDG_STATE_HOME": "state", "XDG_RUNTIME_DIR": "run"},
		{"HOME": own.HomeDir, "XDG_RUNTIME_DIR": "/"}, // another user's, unless the test runs as root
	} {
		env := []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1"}
		for _, name := range []string{"HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"} {
			t.Setenv(name, variables[name])
			if value := variables[name]; value != "" {
				env = append(env, name+"="+value)
			}
		}
		dirs, err := paths.Default()
		if err != nil {
			t.Fatal(err)
		}
		want := server.SocketPath(dirs)
		if got := printed(t, env, "../../clients/python", "python3", "-c", inPython); got != want {
			t.Errorf("with %v the Python client uses %s, not %s", variables, got, want)
		}
		if got := printed(t, env, "../../clients/typescript", program, "--input-type=module-typescript", "-e", inTypeScript); got != want {
			t.Errorf("with %v the TypeScript client uses %s, not %s", variables, got, want)
		}
	}
}

// Both clients have one class of errors for each kind in the schema.
func TestClientsHaveAClassForEachKindOfError(t *testing.T) {
	const inPython = "import sys; from aibox.errors import AiboxError, error_of\nfor kind in sys.argv[1:]:\n  if type(error_of(kind, '')) is AiboxError: print(kind)"
	const inTypeScript = `import { AiboxError, errorOf } from "./src/errors.ts"; for (const kind of process.argv.slice(1)) if (errorOf(kind, "").constructor === AiboxError) console.log(kind)`
	schema, err := os.ReadFile("../../api/aibox/v1/error.proto")
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, found := range regexp.MustCompile(`(?m)^  // - (\w+): `).FindAllSubmatch(schema, -1) {
		kinds = append(kinds, string(found[1]))
	}
	if !slices.Contains(kinds, "failed") {
		t.Fatalf("the schema has the kinds %q", kinds)
	}
	env := []string{"PATH=" + os.Getenv("PATH"), "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1"}
	if missing := printed(t, env, "../../clients/python", "python3", append([]string{"-c", inPython}, kinds...)...); missing != "" {
		t.Errorf("the Python client has no class for %s", missing)
	}
	if missing := printed(t, env, "../../clients/typescript", node(t), append([]string{"--input-type=module-typescript", "-e", inTypeScript, "--"}, kinds...)...); missing != "" {
		t.Errorf("the TypeScript client has no class for %s", missing)
	}
}

// printed runs a program and returns its standard output.
func printed(t *testing.T, env []string, dir, name string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), name, args...)
	var stderr strings.Builder
	command.Dir, command.Env, command.Stderr = dir, env, &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%s %q: %v\n%s", name, args, err, stderr.String())
	}
	return string(out)
}

// node returns a Node 22.18 or newer: that of PATH, or a copy of the base image's.
func node(t *testing.T) string {
	t.Helper()
	const strips = `const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 22 || (a === 22 && b >= 18) ? 0 : 1)`
	if exec.CommandContext(t.Context(), "node", "-e", strips).Run() == nil {
		return "node"
	}
	return fromBase(t, "/usr/local/bin/node")
}

// npm returns the command that runs npm, and the PATH on which it finds its Node: those of
// this machine, or copies of the base image's.
func npm(t *testing.T) (command []string, path string) {
	t.Helper()
	program, path := node(t), os.Getenv("PATH")
	if _, err := exec.LookPath("npm"); program == "node" && err == nil {
		return []string{"npm"}, path
	}
	if program != "node" {
		path = filepath.Dir(program) + ":" + path
	}
	return []string{program, "--use-system-ca", filepath.Join(fromBase(t, "/usr/local/lib/node_modules/npm"), "bin/npm-cli.js")}, path
}

// fromBase returns a copy of a file or folder of the base image.
func fromBase(t *testing.T, source string) string {
	t.Helper()
	path := filepath.Join(copies, filepath.Base(source))
	if _, err := os.Stat(path); err == nil {
		return path
	}
	image := bakeBase(t)
	script := `id=$(docker create "$1" true) && docker cp "$id:$2" "$3"; docker rm "$id"`
	if out, err := exec.CommandContext(t.Context(), "sh", "-ec", script, "sh", image, source, path).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}

// bakeBase returns aibox's own base image. It is built unless the daemon has it.
func bakeBase(t *testing.T) string {
	t.Helper()
	builder, err := docker.Open(os.Getenv("DOCKER_HOST"))
	if err != nil {
		t.Fatal(err)
	}
	defer builder.Close()
	b, err := bakery.New(builder, dockerfiles.FS, bakery.Options{Host: bakery.ReadHost()})
	if err != nil {
		t.Fatal(err)
	}
	baked, err := b.Bake(t.Context(), []string{bakery.Base}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return baked[0].Ref
}
