package runtimetest

import (
	"testing"

	"aibox/runtime"
)

// checkpoint takes a checkpoint of a running sandbox.
func (h Harness) checkpoint(t *testing.T) (runtime.Sandbox, string) {
	t.Helper()
	sandbox, folder := h.start(t, "wait"), t.TempDir()
	checkpointer, ok := sandbox.(runtime.Checkpointer)
	if !ok {
		t.Fatalf("%T takes no checkpoints", sandbox)
	}
	if err := checkpointer.Checkpoint(t.Context(), folder); err != nil {
		t.Fatal(err)
	}
	return sandbox, folder
}

func running(t *testing.T, sandbox runtime.Sandbox) {
	t.Helper()
	if state, err := sandbox.State(t.Context()); err != nil || state.Status != runtime.Running {
		t.Errorf("the sandbox is %+v, %v", state, err)
	}
}

func checkpoints(t *testing.T, h Harness) {
	original, folder := h.checkpoint(t)
	running(t, original)
	for range 2 {
		spec := h.spec(t, "wait")
		spec.Checkpoint = folder
		restored := h.create(t, spec)
		if err := restored.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		running(t, restored)
		if err := restored.Destroy(t.Context()); err != nil {
			t.Error(err)
		}
	}
	running(t, original)
}

func noCheckpoint(t *testing.T, h Harness) {
	spec := h.spec(t, "wait")
	spec.Checkpoint = t.TempDir()
	sandbox := h.create(t, spec)
	if err := sandbox.Start(t.Context()); err == nil {
		t.Error("it was started")
	}
}

func otherCheckpoint(t *testing.T, h Harness) {
	_, folder := h.checkpoint(t)
	spec := h.spec(t, "wait", "longer")
	spec.Checkpoint = folder
	sandbox := h.create(t, spec)
	if err := sandbox.Start(t.Context()); err == nil {
		t.Error("it was started")
	}
}
