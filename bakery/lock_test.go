package bakery_test

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"aibox/bakery"
	"aibox/bakery/bakerytest"
)

const lockedText = "# Not pinned: weather\nARG BASE\nFROM ${BASE}\nARG VERSION=1.2.3\nARG LOCKED\nCOPY lock/ /fetch/\nRUN install\n"

// lockedFiles returns recipes in which the agent has a lock, only for x64.
func lockedFiles() fstest.MapFS {
	from := files()
	from["agent.Dockerfile"].Data = []byte(lockedText)
	from["locks/agent/package.json"] = &fstest.MapFile{Data: []byte(`{"cpu":["x64"],"dependencies":{"a":"1.2.3"}}`)}
	from["locks/agent/package-lock.json"] = &fstest.MapFile{Data: []byte(`{}`)}
	return from
}

// lastBuild bakes the agent and returns its build.
func lastBuild(t *testing.T, from fstest.MapFS, o bakery.Options) (bakery.Build, *recorder) {
	t.Helper()
	fake, lastStep := reachable(), &recorder{}
	if _, err := builder(t, fake, from, o).Bake(t.Context(), []string{"agent"}, lastStep); err != nil {
		t.Fatal(err)
	}
	builds := fake.Builds()
	return builds[len(builds)-1], lastStep
}

func TestPinnedVersionIsBuiltFromItsLock(t *testing.T) {
	same, _ := bakery.ParseVersion("1.2.3")
	for name, o := range map[string]bakery.Options{
		"as pinned":         {Host: bakery.Host{Arch: "amd64"}},
		"the same, by name": {Host: bakery.Host{Arch: "amd64"}, Versions: map[string]bakery.Version{"agent": same}},
	} {
		build, _ := lastBuild(t, lockedFiles(), o)
		if got := contents(t, build); !slices.Contains(got, "lock/package-lock.json") || !slices.Contains(got, "lock/package.json") {
			t.Errorf("%s: the context holds %q", name, got)
		}
		if build.Args["LOCKED"] != "yes" {
			t.Errorf("%s: LOCKED is %q", name, build.Args["LOCKED"])
		}
	}
}

func TestUnlockedImageIsReportedByBuildAndCheck(t *testing.T) {
	other, _ := bakery.ParseVersion("9.9.9")
	unlocked := lockedFiles()
	delete(unlocked, "locks/agent/package-lock.json")
	for name, test := range map[string]struct {
		from fstest.MapFS
		o    bakery.Options
		want string
	}{
		"another version":   {lockedFiles(), bakery.Options{Host: bakery.Host{Arch: "amd64"}, Versions: map[string]bakery.Version{"agent": other}}, "agent 9.9.9: the lock is of version 1.2.3"},
		"another processor": {lockedFiles(), bakery.Options{Host: bakery.Host{Arch: "arm64"}}, "agent 1.2.3: the lock has no checksums for arm64"},
		"no lock":           {unlocked, bakery.Options{Host: bakery.Host{Arch: "amd64"}}, "agent 1.2.3: aibox has no checksums of it"},
	} {
		t.Run(name, func(t *testing.T) {
			build, lastStep := lastBuild(t, test.from, test.o)
			if build.Args["LOCKED"] != "no" || slices.ContainsFunc(contents(t, build), func(n string) bool { return strings.HasPrefix(n, "lock/p") }) {
				t.Errorf("LOCKED is %q, the context holds %q", build.Args["LOCKED"], contents(t, build))
			}
			if !slices.ContainsFunc(lastStep.events, func(e bakery.Event) bool { return e.Kind == bakery.Note && e.Text == "not pinned: "+test.want }) {
				t.Errorf("events are %+v", lastStep.events)
			}
			states, err := builder(t, &bakerytest.Fake{}, test.from, test.o).Check(t.Context(), "agent", "base")
			if err != nil {
				t.Fatal(err)
			}
			if want := []string{"weather", test.want}; states[0].Pinned || !slices.Equal(states[0].Unpinned, want) {
				t.Errorf("check returns %+v, want %q", states[0], want)
			}
			if !states[1].Pinned || len(states[1].Unpinned) > 0 {
				t.Errorf("check of the base returns %+v", states[1])
			}
		})
	}
}

func TestCustomRecipeIsNotPinned(t *testing.T) {
	k := builder(t, reachable(), files(), bakery.Options{Recipes: map[string]string{"mine": "ARG BASE\nFROM ${BASE}\nRUN mine\n"}})
	states, err := k.Check(t.Context(), "mine")
	if err != nil || states[0].Pinned || !strings.Contains(strings.Join(states[0].Unpinned, ""), "your recipe of mine") {
		t.Errorf("check returns %+v, %v", states, err)
	}
}

func TestLockFileChangesTheReference(t *testing.T) {
	o := bakery.Options{Host: bakery.Host{Arch: "amd64"}}
	changed := lockedFiles()
	changed["locks/agent/package-lock.json"].Data = []byte(`{"changed":true}`)
	before, _ := lastBuild(t, lockedFiles(), o)
	after, _ := lastBuild(t, changed, o)
	if before.Ref == after.Ref || before.CacheScope == after.CacheScope {
		t.Errorf("with another lock the image is %s, as before, and its caches %s", after.Ref, after.CacheScope)
	}
}

func TestRecipesShareNoCaches(t *testing.T) {
	fake, scopes := reachable(), map[string]string{}
	from := files()
	from["other.Dockerfile"] = from["agent.Dockerfile"]
	bake(t, builder(t, fake, from, bakery.Options{}))
	for _, build := range fake.Builds() {
		if other, twice := scopes[build.CacheScope]; twice || build.CacheScope == "" {
			t.Errorf("%s and %s share the caches %q", other, build.Ref, build.CacheScope)
		}
		scopes[build.CacheScope] = build.Ref
	}
	if len(scopes) != 3 {
		t.Errorf("built %v", scopes)
	}
}
