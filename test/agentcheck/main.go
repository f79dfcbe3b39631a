// Command agentcheck runs one real agent on a repository against the scripted
// inference server, without a box: to see whether a new version of an agent still
// does what package agents and internal/scripted say of it. It gives the agent no
// protection at all, so run it in namespaces of its own and on a scratch
// repository:
//
//	unshare -n -m sh -c 'mount -t tmpfs none /run; ip link set lo up; ip addr add 10.200.200.1/32 dev lo
//	exec agentcheck -agent codex -repo DIR -home DIR'
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"aibox/agents"
	"aibox/internal/scripted"
)

// options are the command line.
type options struct {
	agent, script, prompt, promptFile, repo, home, address, dump string
	interactive, resume, serve                                   bool
	args                                                         []string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var o options
	flag.StringVar(&o.agent, "agent", "codex", "agent to run")
	flag.StringVar(&o.script, "script", "", "script to play")
	flag.StringVar(&o.prompt, "prompt", "Make the file that the model names.", "what to do")
	flag.StringVar(&o.promptFile, "prompt-file", "", "file with what to do")
	flag.StringVar(&o.repo, "repo", ".", "repository to work in")
	flag.StringVar(&o.home, "home", "", "home directory of the agent")
	flag.StringVar(&o.address, "address", "10.200.200.1:11434", "where the server listens")
	flag.StringVar(&o.dump, "dump", "", "folder for the requests' bodies")
	flag.BoolVar(&o.interactive, "i", false, "interactive")
	flag.BoolVar(&o.resume, "resume", false, "go on with the latest conversation")
	flag.BoolVar(&o.serve, "serve", false, "run the command after -- as it is, instead of an agent")
	flag.Parse()
	o.args = flag.Args()
	code, err := run(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "agentcheck:", err)
		os.Exit(2)
	}
	os.Exit(code)
}

// run serves the script, runs the agent to its end and tells its exit code.
func run(ctx context.Context, o options) (int, error) {
	script, err := scripted.Open(o.script)
	if err != nil {
		return 0, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.address)
	if err != nil {
		return 0, err
	}
	server := &http.Server{Handler: logged(scripted.New(script), o.dump), ReadHeaderTimeout: time.Minute}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	code, err := o.start(ctx)
	_ = server.Close()
	<-served
	return code, err
}

// start runs the agent.
func (o options) start(ctx context.Context) (int, error) {
	inv, err := o.invocation()
	if err != nil {
		return 0, err
	}
	for _, file := range inv.Files {
		path := strings.Replace(file.Path, "~", o.home, 1)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, file.Data, file.Mode); err != nil {
			return 0, err
		}
	}
	cmd := exec.CommandContext(ctx, inv.Argv[0], inv.Argv[1:]...)
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = o.repo, os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append([]string{
		"HOME=" + o.home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LANG=C.UTF-8",
	}, inv.Env...)
	if o.serve {
		cmd.Env = os.Environ()
	}
	begin := time.Now()
	err = cmd.Run()
	fmt.Fprintf(os.Stderr, "agentcheck: %s ended after %s: %v\n", o.agent, time.Since(begin).Round(time.Millisecond), cmd.ProcessState)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		return exit.ExitCode(), nil
	}
	return 0, err
}

func (o options) invocation() (agents.Invocation, error) {
	if o.serve {
		return agents.Invocation{Argv: o.args}, nil
	}
	agent, err := agents.Find(o.agent)
	if err != nil {
		return agents.Invocation{}, err
	}
	if o.promptFile != "" {
		text, err := os.ReadFile(o.promptFile)
		if err != nil {
			return agents.Invocation{}, err
		}
		o.prompt = string(text)
	}
	workdir, err := filepath.Abs(o.repo)
	if err != nil {
		return agents.Invocation{}, err
	}
	return agent.Command(agents.Task{
		Prompt: o.prompt, Interactive: o.interactive, Resume: o.resume, Workdir: workdir, Args: o.args,
		Inference: agents.Inference{BaseURL: "http://" + o.address, Key: "placeholder", Model: scripted.Model},
	})
}

// logged prints a line for every request and keeps the bodies in dump.
func logged(next http.Handler, dump string) http.Handler {
	begin, count := time.Now(), 0
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		count++
		if dump != "" && len(body) > 0 {
			name := filepath.Join(dump, fmt.Sprintf("%02d%s.json", count, strings.ReplaceAll(r.URL.Path, "/", "_")))
			_ = os.WriteFile(name, body, 0o600)
		}
		fmt.Fprintf(os.Stderr, "agentcheck: %s %s %s %d bytes %q\n",
			time.Since(begin).Round(time.Millisecond), r.Method, r.URL, len(body), r.UserAgent())
		next.ServeHTTP(w, r)
	})
}
