package feedback

import (
	"fmt"
	"strings"
	"testing"

	"aibox/review"
)

func TestFeedbackIsWrittenAsAPrompt(t *testing.T) {
	f := Feedback{
		Rejected: []Rejection{
			{Path: "a.go", Diff: "@@ -1,1 +1,1 @@\n-a\n+b\n", Note: "keep it"},
			{Path: "new\nline", Diff: "new file\n+x\n"},
		},
		Comments: []Comment{
			{Path: "b.go", Line: 3, Quote: "x := 1", Text: "name it"},
			{Path: "b.go", Text: "too long"},
			{Path: "c.go", Hunk: "abc", Diff: "@@ -1,0 +1,1 @@\n+c\n", Text: "why"},
			{Text: "add tests"},
		},
	}
	want := "The user has reviewed the work that you did here before. The files are as you left them. " +
		"Change them so that every point below is met, and leave the rest of your work unchanged.\n\n" +
		"# Rejected changes\n\nThese changes of yours are not accepted as they are. " +
		"Where a reason is given, do it differently as it says; where none is given, take the change back.\n\n" +
		"## 1. a.go\n\n```diff\n@@ -1,1 +1,1 @@\n-a\n+b\n```\n\nReason: keep it\n\n" +
		"## 2. \"new\\nline\"\n\n```diff\nnew file\n+x\n```\n\n" +
		"# Comments\n\n" +
		"## 1. b.go, line 3\n\n```\nx := 1\n```\n\nname it\n\n" +
		"## 2. b.go\n\ntoo long\n\n" +
		"## 3. c.go, this change\n\n```diff\n@@ -1,0 +1,1 @@\n+c\n```\n\nwhy\n\n" +
		"## 4. The work as a whole\n\nadd tests\n"
	if got := f.Prompt(); got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

func TestLongFeedbackIsTruncatedWithACount(t *testing.T) {
	var f Feedback
	for i := range MaxRejections {
		f.Rejected = append(f.Rejected, Rejection{Path: review.Path(fmt.Sprint(i)), Diff: strings.Repeat("+x\n", 1000)})
	}
	text := f.Prompt()
	if len(text) > maxPrompt+200 {
		t.Errorf("it has %d bytes", len(text))
	}
	if !strings.Contains(text, "more points did not fit in here") {
		t.Error("it does not say that some is left out")
	}
}
