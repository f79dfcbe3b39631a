// Package e2e tests aibox as users and scripts use it: the real program, rootless Docker
// with gVisor, agents and git, from the command line to the resulting branch. Only the
// model is fake. The tests need the daemon that DOCKER_HOST names, and fail without it.
package e2e

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"aibox/bakery"
	"aibox/dockerfiles"
	"aibox/internal/peer/peertest"
)

// aibox is the program under test, built by TestMain.
var aibox string

func TestMain(m *testing.M) {
	peertest.Child()
	receiveIgnored()
	os.Exit(run(m))
}

// receiveIgnored keeps the programs that the tests start from inheriting ignored signals, which tests send to
// them. The tests themselves survive these signals as before.
func receiveIgnored() {
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "aibox-e2e-")
	if err != nil {
		return fail("making a folder for the program", err)
	}
	defer os.RemoveAll(dir)
	if aibox, err = build(dir); err != nil {
		return fail("building aibox", err)
	}
	flag.Parse()
	if *walkBare {
		return m.Run() // the test itself installs Docker
	}
	if err := command(os.Stderr, aibox, append([]string{"bake", "base", "code"}, fromNpm...)...); err != nil {
		return fail("the end-to-end tests need rootless Docker with gVisor (make setup) and the agents' images", err)
	}
	if err := oneMoreAtOnce(); err != nil {
		return fail("choosing how many tests are at work at once", err)
	}
	if err := buildElsewhere(dir); err != nil {
		return fail("building the images of -aider and -crush", err)
	}
	before, err := images()
	if err != nil {
		return fail("listing images", err)
	}
	code := m.Run()
	if err := removeElsewhere(); err != nil {
		return fail("removing the images of -aider and -crush", err)
	}
	if err := removeImages(before); err != nil {
		return fail("removing the images of the tests' own agents", err)
	}
	left := processes(aibox)
	for deadline := time.Now().Add(hung); len(left) > 0 && time.Now().Before(deadline); left = processes(aibox) {
		time.Sleep(100 * time.Millisecond) // a supervisor whose session is removed can still be ending
	}
	if len(left) > 0 {
		return fail("processes of aibox are left", fmt.Errorf("pids %v", left))
	}
	return code
}

// oneMoreAtOnce runs one more test in parallel than there are processors, unless -parallel
// is given: these tests spend much of their time waiting for limits and for agents that
// retry.
func oneMoreAtOnce() error {
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if chosen {
		return nil
	}
	return flag.Set("test.parallel", strconv.Itoa(runtime.GOMAXPROCS(0)+1))
}

// images lists the references of the images that aibox has baked.
func images() ([]string, error) {
	out, err := exec.Command("docker", "images", "--filter", "reference=aibox/*", "--format", "{{.Repository}}:{{.Tag}}").Output()
	return strings.Fields(string(out)), err
}

// removeImages removes the images that were not there before: those of agents that only
// tests define. It keeps images with the names of aibox's own: tests of other packages,
// which run at the same time, build and remove such images.
func removeImages(before []string) error {
	now, err := images()
	if err != nil {
		return err
	}
	now = slices.DeleteFunc(now, func(ref string) bool {
		repository, _, _ := strings.Cut(ref, ":")
		name := strings.TrimPrefix(repository, bakery.Namespace)
		_, err := fs.Stat(dockerfiles.FS, name+".Dockerfile")
		return slices.Contains(before, ref) || strings.HasSuffix(ref, ":<none>") || name == "debian" || err == nil
	})
	if len(now) == 0 {
		return nil
	}
	return command(os.Stderr, "docker", append([]string{"rmi", "--force"}, now...)...)
}

func fail(what string, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", what, err)
	return 1
}

// build builds aibox with its init program inside. The checkout may be read-only,
// so that the init program reaches the build by an overlay.
func build(dir string) (string, error) {
	checkout, err := filepath.Abs("../..")
	if err != nil {
		return "", err
	}
	initProgram, program, overlay := filepath.Join(dir, "aibox-init"), filepath.Join(dir, "aibox"), filepath.Join(dir, "overlay.json")
	if err := goBuild("-o", initProgram, "../../cmd/aibox-init"); err != nil {
		return "", err
	}
	if err := compress(initProgram, initProgram+".gz"); err != nil {
		return "", err
	}
	replace, err := json.Marshal(map[string]map[string]string{"Replace": {
		filepath.Join(checkout, "internal/initbin/bin/aibox-init.gz"): initProgram + ".gz",
	}})
	if err != nil {
		return "", err
	}
	if err := os.WriteFile(overlay, replace, 0o600); err != nil {
		return "", err
	}
	return program, goBuild("-overlay", overlay, "-o", program, "../../cmd/aibox")
}

// compress writes a file to another one as gzip.
func compress(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(data); err != nil {
		return err
	}
	return errors.Join(w.Close(), os.WriteFile(to, out.Bytes(), 0o600))
}

// goBuild builds a static program.
func goBuild(args ...string) error {
	cmd := exec.CommandContext(context.Background(), "go", append([]string{"build", "-buildvcs=false", "-ldflags=-s -w"}, args...)...)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	return cmd.Run()
}

// command runs a program with its output on out.
func command(out *os.File, name string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = out, out
	return cmd.Run()
}

// processes are the pids of this machine that run program.
func processes(program string) []int {
	var pids []int
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		line, err := os.ReadFile(file)
		if name, _, _ := strings.Cut(string(line), "\x00"); err == nil && name == program {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	return pids
}
