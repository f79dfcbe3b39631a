package manager

import (
	"strings"
	"testing"
	"time"

	"aibox/config"
	"aibox/internal/fault"
	"aibox/netguard"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/workspace"
)

// spoken is an ended session with feedback.
func spoken(t *testing.T) (*Manager, session.ID) {
	t.Helper()
	s, id := kept(t)
	err := s.store.Write(id, session.SpecFile, session.Spec{ID: id, Created: time.Now(), Run: config.Run{Network: netguard.None.String()}})
	if err == nil {
		err = s.store.Write(id, session.StateFile, session.State{Phase: session.Ended, Workspace: &workspace.Workspace{}, Result: &session.Result{}})
	}
	if err == nil {
		err = s.store.WriteChanges(id, &review.ChangeSet{Session: string(id)})
	}
	for _, text := range []string{"one", "two", "three"} {
		if err == nil {
			_, err = s.Comment(t.Context(), id, feedback.Comment{Text: text})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return s, id
}

func TestCommentsKeepTheirNumbers(t *testing.T) {
	s, id := spoken(t)
	if err := s.Uncomment(t.Context(), id, 2); err != nil {
		t.Fatal(err)
	}
	made, err := s.Comment(t.Context(), id, feedback.Comment{Text: "  four\n"})
	if err != nil || made.Number != 4 || made.Text != "four" {
		t.Errorf("the next one is %+v (%v)", made, err)
	}
	f, err := s.Feedback(id)
	if err != nil || len(f.Comments) != 3 || f.Comments[1].Number != 3 {
		t.Errorf("there are %+v (%v)", f.Comments, err)
	}
	if err := s.Uncomment(t.Context(), id, 1, 2); fault.KindOf(err) != fault.Usage {
		t.Errorf("one that is gone is rolled back: %v", err)
	}
	if f, _ := s.Feedback(id); len(f.Comments) != 3 {
		t.Errorf("a refusal took %+v", f.Comments)
	}
}

func TestCommentsDoNotQuoteHiddenFiles(t *testing.T) {
	s, id := spoken(t)
	state := session.State{Phase: session.Ended, Workspace: &workspace.Workspace{Hide: []string{".env"}}, Result: &session.Result{}}
	if err := s.store.Write(id, session.StateFile, state); err != nil {
		t.Fatal(err)
	}
	_, err := s.Comment(t.Context(), id, feedback.Comment{Path: ".env", Line: 1, Text: "why?"})
	if fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "was hidden from the agent") {
		t.Errorf("a line of a hidden file: %v", err)
	}
}

func TestCommentsAreBounded(t *testing.T) {
	s, id := spoken(t)
	for text, says := range map[string]string{
		"":      "is empty",
		" \n\t": "is empty",
		strings.Repeat("x", feedback.MaxComment+1): "longer than 16 KiB",
	} {
		if _, err := s.Comment(t.Context(), id, feedback.Comment{Text: text}); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), says) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
	if _, err := s.Comment(t.Context(), id, feedback.Comment{Line: 3, Text: "x"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("a line of no file: %v", err)
	}
	f, _ := s.Feedback(id)
	for len(f.Comments) < feedback.MaxComments {
		f.Comments = append(f.Comments, feedback.Comment{Number: len(f.Comments) + 1, Text: "x"})
	}
	if err := s.store.Write(id, feedbackFile, f); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Comment(t.Context(), id, feedback.Comment{Text: "one more"}); fault.KindOf(err) != fault.Usage {
		t.Errorf("one too many: %v", err)
	}
}

func TestFeedbackIsSentOnceUnlessTheStartFailed(t *testing.T) {
	s, from := spoken(t)
	to, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.SendFeedback(from, to, false)
	if err != nil || !strings.Contains(text, "three") {
		t.Fatalf("it says %q (%v)", text, err)
	}
	if text, err := s.SendFeedback(from, to, false); err != nil || text != "" {
		t.Errorf("a second time it says %q (%v)", text, err)
	}
	if err := s.takeBackFeedback(from, to); err != nil {
		t.Fatal(err)
	}
	if again, err := s.SendFeedback(from, to, true); err != nil || again != "" {
		t.Errorf("held back it says %q (%v)", again, err)
	}
	for _, id := range []session.ID{from, to} {
		if f, err := s.Feedback(id); err != nil || len(f.Open().Comments) != 3 {
			t.Errorf("%s has %+v (%v)", id, f, err)
		}
	}
}

func TestARejectionIsRemovedByHunkIDPrefix(t *testing.T) {
	s, id := spoken(t)
	f := feedback.Feedback{Rejected: []feedback.Rejection{{Hunk: "aab1"}, {Hunk: "aac2"}, {Hunk: "aab1", Sent: "other"}}}
	if err := s.store.Write(id, feedbackFile, f); err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []review.HunkID{"a", "b", ""} {
		if err := s.Unreject(t.Context(), id, []review.HunkID{prefix}); fault.KindOf(err) != fault.Usage {
			t.Errorf("%q takes something back: %v", prefix, err)
		}
	}
	if err := s.Unreject(t.Context(), id, []review.HunkID{"AAB"}); err != nil {
		t.Fatal(err)
	}
	f, _ = s.Feedback(id)
	if f.Rejects("aab1") || !f.Rejects("aac2") || len(f.Rejected) != 2 {
		t.Errorf("rejected are %+v", f.Rejected)
	}
}
