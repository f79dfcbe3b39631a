package session

import (
	"errors"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/paths"
)

func testStore(t testing.TB) Store {
	t.Helper()
	dir := t.TempDir()
	return NewStore(paths.Dirs{State: dir + "/state", Data: dir + "/data"})
}

func TestIDsSortByAgeAndNeverCollide(t *testing.T) {
	s := testStore(t)
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	var last ID
	for range 5 {
		id, err := s.Create("codex", now)
		if err != nil {
			t.Fatal(err)
		}
		if id <= last {
			t.Fatalf("%s does not sort behind %s", id, last)
		}
		last = id
	}
	later, err := s.Create("aider", now.Add(time.Hour))
	if err != nil || later <= last {
		t.Fatalf("%s does not sort behind %s (%v)", later, last, err)
	}
}

func TestAUniquePrefixFindsASession(t *testing.T) {
	s := testStore(t)
	start := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	first, err := s.Create("codex", start)
	if err != nil {
		t.Fatal(err)
	}
	second, err := s.Create("codex", start.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Resolve(string(first[:5])); got != first || err != nil {
		t.Errorf("the unique prefix gave %q, %v", got, err)
	}
	if got, err := s.Resolve(string(second)); got != second || err != nil {
		t.Errorf("the whole id gave %q, %v", got, err)
	}
	for _, text := range []string{"0", "zzzz", "", "../etc", "a b", "\x1b[31m", strings.Repeat("a", 100)} {
		_, err := s.Resolve(text)
		if fault.KindOf(err) != fault.Usage || err == nil {
			t.Errorf("%q gave %v", text, err)
		}
	}
}

func TestAnAmbiguousPrefixListsItsSessions(t *testing.T) {
	s := testStore(t)
	for range 2 {
		if _, err := s.Create("codex", noon); err != nil {
			t.Fatal(err)
		}
	}
	first, _ := s.IDs()
	want := `"0" could be 2 sessions: ` + string(first[0]) + ", " + string(first[1])
	if _, err := s.Resolve("0"); err == nil || err.Error() != want {
		t.Errorf("two: %v, not %s", err, want)
	}
	for range 5 {
		if _, err := s.Create("codex", noon); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Resolve("0"); err == nil || !strings.HasSuffix(err.Error(), ", …") || !strings.Contains(err.Error(), "7 sessions") {
		t.Errorf("seven: %v", err)
	}
}

func TestAnEndedSessionIsRecognizedByTheStartOfItsState(t *testing.T) {
	s := testStore(t)
	id, err := s.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for _, phase := range []Phase{Preparing, Running, Ended} {
		if err := s.Write(id, StateFile, State{Phase: phase}); err != nil {
			t.Fatal(err)
		}
		if got := s.Ended(id); got != (phase == Ended) {
			t.Errorf("ended is %v in phase %q", got, phase)
		}
	}
}

func TestASessionIsRunningWhileItsLockIsHeld(t *testing.T) {
	s := testStore(t)
	id, err := s.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	file, err := lock(s.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	if !IsLocked(s.Dir(id)) {
		t.Error("a held lock looks free")
	}
	if _, err := lock(s.Dir(id)); !errors.Is(err, ErrLocked) {
		t.Errorf("a second lock gave %v", err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if IsLocked(s.Dir(id)) {
		t.Error("a free lock looks held")
	}
}

func TestASymlinkedSessionsFolderIsRefused(t *testing.T) {
	s := testStore(t)
	s.root = t.TempDir() + "/link"
	if err := os.Symlink(t.TempDir(), s.root); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Create("codex", time.Now()); fault.KindOf(err) != fault.Environment {
		t.Fatalf("got %v", err)
	}
}

func TestAChosenIDIsUsedOnce(t *testing.T) {
	store := testStore(t)
	first, err := store.ChooseID(t.Context(), SandboxAgent, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	second, err := store.ChooseID(t.Context(), SandboxAgent, time.Now())
	if err != nil || first == second || first.Agent() != SandboxAgent {
		t.Fatalf("%s and %s: %v", first, second, err)
	}
	if created, err := store.Create(SandboxAgent, time.Now()); err != nil || created == first || created == second {
		t.Errorf("%s was created: %v", created, err)
	}
	if err := store.CreateChosen(first); err != nil {
		t.Error(err)
	}
	if err := store.CreateChosen(first); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second session with the id: %v", err)
	}
}

func TestABatchInPlaceOfASessionIsReportedAsOne(t *testing.T) {
	s := testStore(t)
	if _, err := s.Resolve("b-0dq4f"); fault.KindOf(err) != fault.Usage || !strings.Contains(err.Error(), "is a batch") || !strings.Contains(strings.Join(fault.Hints(err), " "), "aibox compare b-0dq4f") {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
}
