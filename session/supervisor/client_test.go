package supervisor

import (
	"os"
	"os/exec"
	"testing"

	"aibox/internal/fault"
	"aibox/runtime"
	"aibox/session"
)

func TestAStartEndsWithTheProcessThatRequestedIt(t *testing.T) {
	child := exec.Command("cat")
	in, err := child.StdinPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	client, err := runtime.FindProcess(child.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	s := &run{launch: session.Launch{Client: client}}
	s.watchClient(func() { t.Error("it is abandoned although its client lives") })()
	if err := s.checkClient(); err != nil {
		t.Error(err)
	}
	abandoned := make(chan struct{})
	release := s.watchClient(func() { close(abandoned) })
	_ = in.Close()
	<-abandoned
	release()
	release()
	_ = child.Wait()
	if err := s.checkClient(); err == nil {
		t.Error("a start whose client is dead is completed")
	}
}

func TestAStartWithoutAClientIsNotWatched(t *testing.T) {
	s := &run{}
	s.watchClient(func() { t.Error("it is abandoned") })()
	if err := s.checkClient(); err != nil {
		t.Error(err)
	}
	self, err := runtime.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	s.launch.Client = self
	if err := s.checkClient(); err != nil {
		t.Error(err)
	}
}

// Without this, a stop would wait for as long as Docker does not answer.
func TestAStartEndsWithTheSession(t *testing.T) {
	s := &run{ended: make(chan struct{})}
	s.watchEnd(func() { t.Error("it is abandoned although nobody ended it") })()
	abandoned := make(chan struct{})
	release := s.watchEnd(func() { close(abandoned) })
	s.end(fault.New(fault.Interrupted, "stopped by the user"))
	<-abandoned
	release()
	release()
}
