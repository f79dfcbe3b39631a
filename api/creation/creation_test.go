package creation

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/store"
	"aibox/internal/fault"
	"aibox/session"
)

// fixture is a Recorder over a real database.
type fixture struct {
	*Recorder

	t       *testing.T
	db      *store.Store
	settled []session.ID
	stays   bool // the result of Settle
	made    int
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "api", "x.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	f := &fixture{t: t, db: db}
	f.Recorder = &Recorder{Store: db, Settle: func(_ context.Context, id session.ID) (bool, error) {
		f.settled = append(f.settled, id)
		return f.stays, nil
	}}
	return f
}

// do creates something with a key and a prompt. It returns the earlier result.
func (f *fixture) do(key, prompt string, create func(Record) error) (session.ID, error) {
	f.t.Helper()
	return f.Do(f.t.Context(), "acme", key, &aiboxv1.StartSessionRequest{Prompt: prompt, IdempotencyKey: key}, create)
}

// makes is a creation that records an id, and ends with err.
func (f *fixture) makes(id session.ID, err error) func(Record) error {
	return func(record Record) error {
		f.made++
		return errors.Join(record(f.t.Context(), id), err)
	}
}

// die leaves a creation whose process has died.
func (f *fixture) die(key, prompt string, id session.ID) {
	f.t.Helper()
	killed := errors.New("killed")
	f.Store = dying{f.db}
	if _, err := f.do(key, prompt, f.makes(id, killed)); !errors.Is(err, killed) {
		f.t.Fatal(err)
	}
	f.Store, f.made = f.db, 0
}

// dying is a store of a process that ends before it records the end of a creation.
type dying struct{ *store.Store }

func (d dying) BeginCreation(ctx context.Context, tenant session.Tenant, key, request, _ string, isAlive func(string) bool) (store.Creation, error) {
	return d.Store.BeginCreation(ctx, tenant, key, request, `{"pid":4194304,"start_time":1}`, isAlive)
}

func (d dying) AddCreation(ctx context.Context, tenant session.Tenant, key, _ string, id session.ID) (store.Creation, error) {
	return d.Store.AddCreation(ctx, tenant, key, `{"pid":4194304,"start_time":1}`, id)
}

func (d dying) EndCreation(context.Context, store.Creation, bool) error { return nil }

func TestAKeyCreatesOnce(t *testing.T) {
	f := newFixture(t)
	for i, want := range []session.ID{"", "0dq4f-codex", "0dq4f-codex"} {
		if earlier, err := f.do("k", "task", f.makes("0dq4f-codex", nil)); err != nil || earlier != want {
			t.Errorf("call %d returns %q, %v", i, earlier, err)
		}
	}
	if _, err := f.do("k", "another task", f.makes("0dq4g-codex", nil)); fault.KindOf(err) != fault.Conflict {
		t.Errorf("another request with the key: %v", err)
	}
	if _, err := f.do(strings.Repeat("k", maxKey+1), "task", f.makes("0dq4g-codex", nil)); fault.KindOf(err) != fault.Usage {
		t.Errorf("a key that is too long: %v", err)
	}
	if f.made != 1 {
		t.Errorf("%d were created", f.made)
	}
}

func TestAKeyIsFreeAfterACreationThatFailed(t *testing.T) {
	f := newFixture(t)
	failed := errors.New("no image")
	if _, err := f.do("k", "task", f.makes("0dq4f-codex", failed)); !errors.Is(err, failed) {
		t.Fatal(err)
	}
	if earlier, err := f.do("k", "another task", f.makes("0dq4g-codex", nil)); err != nil || earlier != "" || f.made != 2 {
		t.Errorf("%q, %v after %d creations", earlier, err, f.made)
	}
}

// panics calls create, which panics.
func panics(t *testing.T, create func()) {
	t.Helper()
	defer func() {
		if recover() == nil {
			t.Error("the panic does not reach the caller")
		}
	}()
	create()
}

func TestACreationThatPanicsIsSettledAndFreesItsKey(t *testing.T) {
	for name, c := range map[string]struct {
		id    session.ID
		stays bool
		want  session.ID
		made  int
	}{
		"before it has an id":         {made: 1},
		"what it started is ended":    {id: "0dq4f-sandbox", made: 1},
		"an agent that runs is found": {id: "0dq4f-codex", stays: true, want: "0dq4f-codex"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.stays = c.stays
			create := func(record Record) error {
				if c.id != "" {
					if err := record(t.Context(), c.id); err != nil {
						return err
					}
				}
				panic("a bug")
			}
			panics(t, func() { _, _ = f.do("k", "task", create) })
			if settled := len(f.settled) == 1 && f.settled[0] == c.id; settled != (c.id != "") {
				t.Errorf("%q are settled", f.settled)
			}
			if earlier, err := f.do("k", "task", f.makes("0dq4g-codex", nil)); err != nil || earlier != c.want || f.made != c.made {
				t.Errorf("%q, %v; %d were created", earlier, err, f.made)
			}
			f.settled = nil
			panics(t, func() { _ = f.once(false, create) })
			if settled := len(f.settled) == 1 && f.settled[0] == c.id; settled != (c.id != "") {
				t.Errorf("without a key, %q are settled", f.settled)
			}
		})
	}
}

func TestTheNextCallSettlesACreationThatPanickedAndCouldNotBeSettled(t *testing.T) {
	f := newFixture(t)
	settle := f.Settle
	f.Settle = func(context.Context, session.ID) (bool, error) { return false, errors.New("no Docker") }
	panics(t, func() {
		_, _ = f.do("k", "task", func(record Record) error {
			_ = record(t.Context(), "0dq4f-sandbox")
			panic("a bug")
		})
	})
	f.Settle = settle
	if earlier, err := f.do("k", "task", f.makes("0dq4g-sandbox", nil)); err != nil || earlier != "" || f.made != 1 || len(f.settled) != 1 {
		t.Errorf("%q, %v; %d were created, %q settled", earlier, err, f.made, f.settled)
	}
}

// beginStore calls begin for each creation that a tenant begins.
type beginStore struct {
	Store
	begin func(session.Tenant)
}

func (s beginStore) BeginCreation(ctx context.Context, tenant session.Tenant, key, request, owner string, isAlive func(string) bool) (store.Creation, error) {
	s.begin(tenant)
	return s.Store.BeginCreation(ctx, tenant, key, request, owner, isAlive)
}

// waitContext calls waits before a wait for its end.
type waitContext struct {
	context.Context
	waits func()
}

func (c waitContext) Done() <-chan struct{} {
	c.waits()
	return c.Context.Done()
}

// The connection of the first call may be lost, and its caller repeats it.
func TestACallWithTheKeyOfACreationThatRunsGetsItsResult(t *testing.T) {
	for name, failure := range map[string]error{"": nil, "canceled": context.Canceled} {
		f := newFixture(t)
		begun, end := make(chan struct{}), make(chan struct{})
		var runs atomic.Bool
		f.Store = beginStore{f.db, func(tenant session.Tenant) {
			if tenant == "acme" && runs.Load() {
				t.Errorf("%s: a second call does not wait for the first one", name)
			}
		}}
		first := make(chan error, 1)
		go func() {
			_, err := f.do("k", "task", func(record Record) error {
				runs.Store(true)
				close(begun)
				<-end
				runs.Store(false)
				return errors.Join(record(t.Context(), "0dq4f-codex"), failure)
			})
			first <- err
		}()
		<-begun
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := f.Do(ctx, "acme", "k", &aiboxv1.StartSessionRequest{}, f.makes("0dq4h-codex", nil)); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: a call whose caller has gone: %v", name, err)
		}
		if _, err := f.Do(t.Context(), "another", "k", &aiboxv1.StartSessionRequest{}, f.makes("0dq4h-codex", nil)); err != nil {
			t.Errorf("%s: a call of another tenant: %v", name, err)
		}
		f.made = 0
		again, waits := make(chan session.ID, 1), make(chan struct{})
		go func() {
			ctx := waitContext{t.Context(), sync.OnceFunc(func() { close(waits) })}
			earlier, err := f.Do(ctx, "acme", "k", &aiboxv1.StartSessionRequest{Prompt: "task", IdempotencyKey: "k"}, f.makes("0dq4g-codex", nil))
			if err != nil {
				t.Errorf("%s: the second call: %v", name, err)
			}
			again <- earlier
		}()
		<-waits
		close(end)
		want, made := session.ID("0dq4f-codex"), 0
		if failure != nil {
			want, made = "", 1
		}
		if err := <-first; !errors.Is(err, failure) {
			t.Errorf("%s: the first call: %v", name, err)
		}
		if earlier := <-again; earlier != want || f.made != made {
			t.Errorf("%s: the second call returns %q, and %d were created", name, earlier, f.made)
		}
	}
}

func TestACreationThatRunsInAnotherProcessIsAConflict(t *testing.T) {
	f := newFixture(t)
	_, err := f.do("k", "task", func(Record) error {
		other := &fixture{Recorder: &Recorder{Store: f.db}, t: t}
		if _, err := other.do("k", "task", f.makes("0dq4f-codex", nil)); fault.KindOf(err) != fault.Conflict {
			t.Errorf("a second call: %v", err)
		}
		return nil
	})
	if err != nil || f.made != 0 {
		t.Errorf("%v after %d creations", err, f.made)
	}
}

func TestTheCreationOfADeadProcessIsReturnedOrRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		id    session.ID
		stays bool
		want  session.ID
		made  int
	}{
		"it had started":           {id: "0dq4f-codex", stays: true, want: "0dq4f-codex"},
		"it had not started":       {id: "0dq4f-codex", made: 1},
		"it had not even an id":    {made: 1},
		"none stays without an id": {stays: true, made: 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			f.die("k", "task", c.id)
			f.stays = c.stays
			earlier, err := f.do("k", "task", f.makes("0dq4g-codex", nil))
			if err != nil || earlier != c.want || f.made != c.made || (len(f.settled) == 1) != (c.id != "") {
				t.Errorf("%q, %v; %d were created; %q settled", earlier, err, f.made, f.settled)
			}
		})
	}
}

func TestANewServerSettlesAllCreationsOfDeadOnes(t *testing.T) {
	f := newFixture(t)
	f.die("a", "task", "0dq4f-codex")
	f.die("b", "task", "0dq4g-sandbox")
	f.die("c", "task", "")
	if err := f.SettleAll(t.Context()); err != nil || len(f.settled) != 2 {
		t.Errorf("%v; settled %q", err, f.settled)
	}
	left, err := f.db.AbandonedCreations(t.Context(), isAlive)
	if err != nil || len(left) > 0 {
		t.Errorf("%+v are left, %v", left, err)
	}
}

// once is DoOnce of a process that dies with the creation if dies is set.
func (f *fixture) once(dies bool, create func(Record) error) error {
	if dies {
		f.Store = dying{f.db}
		defer func() { f.Store = f.db }()
	}
	return f.DoOnce(f.t.Context(), "acme", create)
}

func (f *fixture) abandoned() []store.Creation {
	f.t.Helper()
	found, err := f.db.AbandonedCreations(f.t.Context(), func(string) bool { return false })
	if err != nil {
		f.t.Fatal(err)
	}
	return found
}

func TestACreationWithoutAKeyIsRecordedOnceThereIsSomethingToFind(t *testing.T) {
	f := newFixture(t)
	err := f.once(false, func(record Record) error {
		if before := f.abandoned(); len(before) != 0 {
			t.Errorf("recorded before anything is made: %+v", before)
		}
		for _, id := range []session.ID{"0dq4f-sandbox", "0dq4g-sandbox"} { // the first one could not be claimed
			if err := record(t.Context(), id); err != nil {
				return err
			}
			if found := f.abandoned(); len(found) != 1 || found[0].Sandbox != id {
				t.Errorf("%s is recorded as %+v", id, found)
			}
		}
		return nil
	})
	if left := f.abandoned(); err != nil || len(left) != 0 {
		t.Errorf("%v, %+v", err, left)
	}
	failed := errors.New("no image")
	if err := f.once(false, func(Record) error { return failed }); !errors.Is(err, failed) || len(f.abandoned()) != 0 {
		t.Errorf("%v, %+v", err, f.abandoned())
	}
}

func TestACreationWithoutAKeyIsSettledAfterTheDeathOfItsProcess(t *testing.T) {
	f := newFixture(t)
	if err := f.once(true, f.makes("0dq4f-sandbox", nil)); err != nil {
		t.Fatal(err)
	}
	if err := f.SettleAll(t.Context()); err != nil || len(f.settled) != 1 || f.settled[0] != "0dq4f-sandbox" || len(f.abandoned()) != 0 {
		t.Errorf("%v, settled %v, left %+v", err, f.settled, f.abandoned())
	}
}

// full is a store that cannot record the end of the first creation.
type full struct {
	*store.Store
	failed *bool
}

func (f full) EndCreation(ctx context.Context, c store.Creation, keep bool) error {
	if !*f.failed {
		*f.failed = true
		return errors.New("the disk is full")
	}
	return f.Store.EndCreation(ctx, c, keep)
}

// The caller gets an error, so it must not own something that counts against its quota.
func TestACreationWhoseEndCannotBeRecordedIsSettledAndFreesItsKey(t *testing.T) {
	f := newFixture(t)
	f.Store = full{f.db, new(bool)}
	if _, err := f.do("k", "x", f.makes("s1", nil)); err == nil {
		t.Error("there is no error")
	}
	if earlier, err := f.do("k", "x", f.makes("s2", nil)); earlier != "" || err != nil || f.made != 2 {
		t.Errorf("the next call: %q, %v, and %d creations", earlier, err, f.made)
	}
	if len(f.settled) != 1 || f.settled[0] != "s1" {
		t.Errorf("settled are %q", f.settled)
	}
	f.Store = full{f.db, new(bool)}
	if err := f.DoOnce(t.Context(), "acme", f.makes("s3", nil)); err == nil {
		t.Error("without a key there is no error")
	}
	if len(f.settled) != 2 || f.settled[1] != "s3" {
		t.Errorf("settled are %q", f.settled)
	}
}

// stored is a store that records the end of a creation, and reports an error nevertheless.
type stored struct{ *store.Store }

func (s stored) EndCreation(ctx context.Context, c store.Creation, keep bool) error {
	return errors.Join(s.Store.EndCreation(ctx, c, keep), errors.New("the answer is lost"))
}

func TestACreationWhoseEndIsRecordedDespiteAnErrorIsKept(t *testing.T) {
	f := newFixture(t)
	f.Store = stored{f.db}
	if _, err := f.do("k", "x", f.makes("s1", nil)); err == nil {
		t.Error("there is no error")
	}
	f.Store = f.db
	if earlier, err := f.do("k", "x", f.makes("s2", nil)); earlier != "s1" || err != nil || len(f.settled) > 0 {
		t.Errorf("the next call: %q, %v, and settled are %q", earlier, err, f.settled)
	}
}

// The digest of a request does not have its type. Requests of two types cannot have equal bytes, since
// the server refuses unknown fields, and the key of one of them is an unknown field of the other.
func TestRequestsOfTwoMethodsCannotBeTakenForEachOther(t *testing.T) {
	var keyed []protoreflect.MessageDescriptor
	protoregistry.GlobalFiles.RangeFilesByPackage("aibox.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Messages().Len() {
			if message := file.Messages().Get(i); message.Fields().ByName("idempotency_key") != nil {
				keyed = append(keyed, message)
			}
		}
		return true
	})
	if len(keyed) < 2 {
		t.Fatalf("only %d requests have keys", len(keyed))
	}
	hasKeyOf := func(one, other protoreflect.MessageDescriptor) bool {
		return one.Fields().ByNumber(other.Fields().ByName("idempotency_key").Number()) != nil
	}
	for i, one := range keyed {
		for _, other := range keyed[:i] {
			if hasKeyOf(one, other) && hasKeyOf(other, one) {
				t.Errorf("%s and %s can have equal bytes: add their names to the digest", one.FullName(), other.FullName())
			}
		}
	}
}
