package supervisor

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/manager"
)

// notified returns a supervisor whose notifications go to a channel, titles first.
func notified(t *testing.T, on ...string) (*supervisor, chan string) {
	t.Helper()
	_, s := watched(t)
	notes := make(chan string, 100)
	s.deps.Settings = notifying(manager.Notifications{On: on, Desktop: func(_ context.Context, title, text string) error {
		notes <- title + ": " + text
		return nil
	}})
	s.launch.Spec.Repository = "/home/ann/shop"
	return s, notes
}

func notifying(how manager.Notifications) func() manager.Settings {
	return func() manager.Settings { return manager.Settings{Notifications: how} }
}

// addNotifyCommand adds the user's command to the notifications of s.
func addNotifyCommand(s *supervisor, text string) {
	how := s.deps.ReadSettings().Notifications
	how.Command = manager.NewNotifyCommand(text)
	s.deps.Settings = notifying(how)
}

func TestTheEndOfAnUnwatchedSessionIsNotified(t *testing.T) {
	failed := session.FailureOf(fault.New(fault.Limit, "the time limit of 5s was reached\x1b"))
	stopped := session.FailureOf(fault.New(fault.Interrupted, "stopped: by the user"))
	for name, c := range map[string]struct {
		result  session.Result
		watched bool
		want    string
	}{
		"changed":   {session.Result{Changed: true, Changes: session.Changes{Files: 2, Added: 5, Deleted: 1}}, false, " has ended: 2 files to review: +5 -1"},
		"unchanged": {session.Result{}, false, " has ended: nothing was changed"},
		"unknown":   {session.Result{Changes: session.Changes{Unknown: "the disk is full"}}, false, " has ended: what it changed is not known yet"},
		"failed":    {session.Result{Fault: failed}, false, ` failed: the time limit of 5s was reached\x1b`},
		"stopped":   {session.Result{Fault: stopped}, false, ""},
		"watched":   {session.Result{Fault: failed}, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, notes := notified(t, "ended", "failed")
			s.notifier.notifyEnd(&c.result, c.watched)
			close(notes)
			if got := <-notes; got != c.want && got != string(s.id)+c.want {
				t.Errorf("notified is %q", got)
			}
		})
	}
}

func TestOnlyTheEventsOfTheSettingsAreNotified(t *testing.T) {
	s, notes := notified(t, "asks")
	s.notifier.notifyEnd(&session.Result{}, false)
	s.launch.Spec.Verifies = &session.Verifies{}
	s.notifier.notify(note{manager.NotifyAsks, "asks", "of a verification", func() bool { return true }})
	s.notifier.sending.Wait()
	if len(notes) > 0 {
		t.Errorf("notified is %q", <-notes)
	}
}

// The sandbox causes questions, and could flood the desktop.
func TestNotificationsOfARunningSessionAreRare(t *testing.T) {
	s, notes := notified(t, "asks", "failed")
	for range 50 {
		s.ask(session.Request{What: session.RequestTime, Question: "More time?", Yes: "yes", No: "no"}, func(session.Answer) error { return nil })
	}
	s.notifier.notifyEnd(&session.Result{Fault: session.FailureOf(fault.New(fault.Limit, "over"))}, false)
	close(notes)
	var got []string
	for note := range notes {
		got = append(got, note)
	}
	slices.Sort(got)
	if want := []string{string(s.id) + " asks: More time?", string(s.id) + " failed: over"}; !slices.Equal(got, want) {
		t.Errorf("notified are %q", got)
	}
}

// quiet is a supervisor without a control socket, for tests in synthetic time, with its
// notifications.
func quiet(t *testing.T, on ...string) (*supervisor, chan string) {
	t.Helper()
	s, notes := limited(t, time.Hour), make(chan string, 100)
	s.deps.Settings = notifying(manager.Notifications{On: on, Desktop: func(_ context.Context, title, text string) error {
		notes <- title + ": " + text
		return nil
	}})
	return s, notes
}

// askFor asks a question that is never answered.
func askFor(s *supervisor, question string) int {
	r, _ := s.ask(session.Request{What: session.RequestTime, Question: question, Yes: "yes", No: "no"}, func(session.Answer) error { return nil })
	return r.ID
}

// after waits for a time and returns the notifications until then.
func after(pause time.Duration, notes chan string) string {
	time.Sleep(pause)
	synctest.Wait()
	var got []string
	for len(notes) > 0 {
		_, text, _ := strings.Cut(<-notes, " ")
		got = append(got, text)
	}
	return strings.Join(got, ", ")
}

// An agent that waits just before it causes a question could otherwise suppress each
// notification of a question.
func TestAQuestionSoonAfterANotificationIsNotifiedWhenThePauseEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, notes := quiet(t, "waiting", "asks")
		s.notifier.setWaiting(true)
		if got := after(waitingSettle, notes); got != "waits for you: " {
			t.Fatalf("notified is %q", got)
		}
		askFor(s, "The first?")
		askFor(s, "The second?")
		s.notifier.setWaiting(false)
		s.notifier.setWaiting(true)
		if got := after(notifyPause-time.Second, notes); got != "" {
			t.Errorf("notified within the pause is %q", got)
		}
		if got := after(time.Second, notes); got != "asks: The second?" {
			t.Errorf("notified after the pause is %q", got)
		}
		third := askFor(s, "The third?")
		if err := s.Answer(third, "yes"); err != nil {
			t.Fatal(err)
		}
		if got := after(notifyPause, notes); got != "" {
			t.Errorf("notified of an answered question is %q", got)
		}
		askFor(s, "The fourth?")
		askFor(s, "The fifth?")
		if got := after(0, notes); got != "asks: The fourth?" {
			t.Errorf("notified after a quiet time is %q", got)
		}
		s.notifier.notifyEnd(&session.Result{}, true)
		if got := after(notifyPause, notes); got != "" {
			t.Errorf("notified after the end is %q", got)
		}
	})
}

func TestTheFailedStartOfAQueuedSessionIsNotified(t *testing.T) {
	for name, c := range map[string]struct {
		cause error
		want  string
	}{
		"failed":  {fault.New(fault.Environment, "the image is gone"), " failed: the image is gone"},
		"stopped": {fault.New(fault.Interrupted, "stopped: by the user"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, notes := notified(t, "failed")
			s.current = session.State{Phase: session.Queued, Queue: &session.Queue{Detached: true}}
			s.recordFailedStart(c.cause, false)
			close(notes)
			if got := <-notes; got != c.want && got != string(s.id)+c.want {
				t.Errorf("notified is %q", got)
			}
		})
	}
}

func TestAnAgentThatWaitsForTheUserIsNotifiedOnce(t *testing.T) {
	s, notes := notified(t, "waiting")
	s.notifier.setWaiting(true)
	s.notifier.setWaiting(false) // the wait was too short
	s.notifier.setWaiting(true)
	s.notifier.setWaiting(true)
	if got := <-notes; got != string(s.id)+" waits for you: /home/ann/shop" {
		t.Errorf("notified is %q", got)
	}
	s.notifier.sending.Wait()
	if len(notes) > 0 {
		t.Errorf("notified is %q, too", <-notes)
	}
}

func TestTheNotifyCommandReceivesJSONAndItsFailureIsLogged(t *testing.T) {
	s, _ := notified(t, "ended")
	file := filepath.Join(t.TempDir(), "got")
	addNotifyCommand(s, "tee "+file)
	s.notifier.notifyEnd(&session.Result{}, false)
	var got manager.Notification
	data, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(data, &got)
	}
	if err != nil || got.Event != manager.NotifyEnded || got.Session != s.id || got.Repository != "/home/ann/shop" || got.Text != "nothing was changed" || time.Since(got.Time) > time.Hour {
		t.Errorf("received is %+v, %v", got, err)
	}
	addNotifyCommand(s, "false")
	s.notifier.notifyEnd(&session.Result{}, false)
	s.notifier.notifyEnd(&session.Result{}, false)
	log, err := os.ReadFile(filepath.Join(s.dir, "audit.jsonl"))
	if err != nil || strings.Count(string(log), "notify-command") != 1 || !slices.Contains(logged(t, s), audit.NoticeGiven) {
		t.Errorf("logged is %s, %v", log, err)
	}
}

func TestAFollowedSessionCountsAsWatched(t *testing.T) {
	s, _ := notified(t)
	s.launch.Spec.Run = config.Run{}
	if s.notifier.isWatched() {
		t.Error("it is watched before a client comes")
	}
	s.notifier.followers.Add(1)
	if !s.notifier.isWatched() {
		t.Error("it is not watched with a client")
	}
}
