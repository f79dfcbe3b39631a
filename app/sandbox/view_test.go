package sandbox

import (
	"errors"
	"strings"
	"testing"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

func TestASandboxShowsTheBoundsOfItsTrafficAndThatItWasWarm(t *testing.T) {
	own := &session.SandboxSpec{Tenant: "acme"}
	s := session.Session{Spec: session.Spec{Sandbox: own, Run: config.Run{Network: "allowlist", EgressUpload: 5, EgressDownload: 7}}}
	if v := view(&s); v.Network.Upload != 5 || v.Network.Download != 7 || v.Warm {
		t.Errorf("%+v", v)
	}
	s.Network = "none"
	if v := view(&s); v.Network.Upload != 0 || v.Network.Download != 0 {
		t.Errorf("without a way out: %+v", v.Network)
	}

	given := session.Launch{Spec: s.Spec, ImageID: "sha256:1"}
	warm, ok := given.Blueprint(runtime.Process{PID: 1})
	if !ok {
		t.Fatal("it cannot be warm")
	}
	claimed, err := (&session.Claim{Launch: given}).Accept(&warm, "")
	if err != nil {
		t.Fatal(err)
	}
	if v := view(&session.Session{Spec: claimed.Spec}); !v.Warm || v.Tenant != "acme" {
		t.Errorf("a claimed sandbox: %+v", v)
	}
	if key, _ := claimed.WarmKey(""); key == "" {
		t.Error("no key")
	} else if first, _ := given.WarmKey(""); key != first {
		t.Error("that it was claimed is part of its key")
	}
}

func TestACallThatNeedsARunningSandboxNamesTheCommandThatResumesIt(t *testing.T) {
	if err := notRunning("0dq4f-sandbox", Paused); !errors.Is(err, session.ErrWrongState) || !strings.Contains(strings.Join(fault.Hints(err), " "), "aibox sandbox resume 0dq4f-sandbox") {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
	if err := notRunning("0dq4f-sandbox", Ended); len(fault.Hints(err)) != 0 {
		t.Errorf("an ended sandbox cannot be resumed: %q", fault.Hints(err))
	}
}
