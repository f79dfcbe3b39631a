package bakery_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode"

	"aibox/bakery"
	"aibox/internal/fault"
)

// failing bakes an agent whose build prints output and fails in its second step.
func failing(t *testing.T, output, reason string) error {
	t.Helper()
	fake := reachable()
	fake.OnBuild = func(_ context.Context, b bakery.Build, report func(bakery.Update)) error {
		if strings.HasPrefix(b.Ref, "aibox/base:") {
			return nil
		}
		start := time.Unix(100, 0)
		step := bakery.Step{ID: "s", Name: "[2/2] RUN install", Started: start, Ended: start, Error: reason}
		report(bakery.Update{Steps: []bakery.Step{step}, Logs: []bakery.Log{{Step: "s", Data: []byte(output)}}})
		return errors.New("failed")
	}
	_, err := builder(t, fake, files(), bakery.Options{}).Bake(t.Context(), []string{"agent"}, nil)
	return err
}

func TestUnreachableHostErrorNamesStepHostAndFix(t *testing.T) {
	for name, output := range map[string]string{
		"curl":         "curl: (6) Could not resolve host: files.example\n",
		"curl refused": "curl: (7) Failed to connect to files.example port 443 after 1 ms: Couldn't connect to server\n",
		"a proxy":      "curl: (5) Could not resolve proxy: files.example\n",
		"npm":          "npm error code ENOTFOUND\nnpm error request to https://files.example/x failed, reason: getaddrinfo ENOTFOUND files.example\nnpm error more\n",
		"node":         "npm error Error: Installation failed: Request failed: getaddrinfo EAI_AGAIN files.example\n",
		"pip": "Could not fetch URL https://files.example/simple/x/: connection error: HTTPSConnectionPool(host='files.example', port=443): " +
			"Max retries exceeded - skipping\nERROR: No matching distribution found for x\n",
		"apt": "E: Failed to fetch http://files.example/x  Temporary failure resolving 'files.example'\n",
	} {
		err := failing(t, output, `executor failed running [/bin/sh -c a long `+"\n"+` command]: exit code: 1`)
		want := "the image of agent was not built, because files.example could not be reached: step [2/2] RUN install: exit code 1"
		if err == nil || err.Error() != want || fault.KindOf(err) != fault.Environment {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
		hints := strings.Join(fault.Hints(err), "\n")
		for _, way := range []string{"HTTPS_PROXY", "npm's registry", "index-url", "--image", "aibox bake agent"} {
			if !strings.Contains(hints, way) {
				t.Errorf("%s: %q is not among the ways out:\n%s", name, way, hints)
			}
		}
	}
}

func TestOtherBuildErrorsNameNoHost(t *testing.T) {
	for _, reason := range []string{`process "/bin/sh -c make" did not complete successfully: exit code: 2`, "out of space"} {
		err := failing(t, "error: no rule to make target https://files.example\n", reason)
		if err == nil || strings.Contains(err.Error(), "reached") || strings.Contains(err.Error(), "/bin/sh") || len(fault.Hints(err)) == 0 {
			t.Errorf("%v, hints %q", err, fault.Hints(err))
		}
	}
}

func TestAnInvalidDockerfileIsTheUsersToCorrect(t *testing.T) {
	for _, report := range []string{
		"failed to solve with frontend dockerfile.v0: failed to create LLB definition: dockerfile parse error line 3: unknown instruction: RUNN",
		"failed to solve: dockerfile parse error on line 3: unknown instruction: RUNN (did you mean RUN?)",
	} {
		fake := reachable()
		fake.OnBuild = func(_ context.Context, b bakery.Build, _ func(bakery.Update)) error {
			if strings.HasPrefix(b.Ref, "aibox/base:") {
				return nil
			}
			return errors.New(report)
		}
		_, err := builder(t, fake, files(), bakery.Options{}).Bake(t.Context(), []string{"agent"}, nil)
		const want = "the image of agent was not built: its Dockerfile has an error in line 3: unknown instruction: RUNN"
		if err == nil || !strings.HasPrefix(err.Error(), want) || fault.KindOf(err) != fault.Usage {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// The output of a program may repeat false claims of a server.
func FuzzUnreached(f *testing.F) {
	f.Add("curl: (6) Could not resolve host: files.example")
	f.Add("HTTPSConnectionPool(host='x\x1b[31m")
	f.Fuzz(func(t *testing.T, line string) {
		host := bakery.UnreachableHost([]string{line})
		if !strings.Contains(line, host) || strings.ContainsFunc(host, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
			t.Errorf("host %q", host)
		}
	})
}
