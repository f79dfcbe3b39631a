package bakery_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"aibox/bakery"
	"aibox/bakery/bakerytest"
	"aibox/internal/fault"
)

const (
	baseText  = "ARG BASE\nFROM ${BASE}\nRUN true\n"
	agentText = "ARG BASE\nFROM ${BASE}\nARG VERSION=1.2.3\nARG NPM_REGISTRY\nRUN install ${VERSION}\n"
)

func files() fstest.MapFS {
	return fstest.MapFS{
		"base.Dockerfile":  {Data: []byte(baseText)},
		"agent.Dockerfile": {Data: []byte(agentText)},
		"embed.go":         {Data: []byte("not a recipe")},
	}
}

// reachable returns a Fake whose registry has everything.
func reachable() *bakerytest.Fake {
	return &bakerytest.Fake{OnPull: func(context.Context, string) error { return nil }}
}

func builder(t *testing.T, b bakery.Builder, from fstest.MapFS, o bakery.Options) *bakery.Bakery {
	t.Helper()
	k, err := bakery.New(b, from, o)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func bake(t *testing.T, k *bakery.Bakery, names ...string) []bakery.Baked {
	t.Helper()
	done, err := k.Bake(t.Context(), names, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

type recorder struct{ events []bakery.Event }

func (r *recorder) Handle(e bakery.Event) { r.events = append(r.events, e) }

func (r *recorder) find(kind bakery.Kind) *bakery.Event {
	for i := range r.events {
		if r.events[i].Kind == kind {
			return &r.events[i]
		}
	}
	return nil
}

func TestAgentIsBuiltOnTheBaseAndASecondBuildDoesNothing(t *testing.T) {
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{})
	first := bake(t, k, "agent")
	builds := fake.Builds()
	if len(builds) != 2 || builds[1].Args["BASE"] != builds[0].Ref || !strings.HasPrefix(builds[0].Args["BASE"], "aibox/debian:") {
		t.Fatalf("builds: %+v", builds)
	}
	if first[0].Ref != builds[1].Ref || first[0].Reused {
		t.Errorf("baked: %+v", first[0])
	}
	labels := first[0].Image.Labels
	if labels[bakery.LabelAgent] != "agent" || labels[bakery.LabelVersion] != "1.2.3" ||
		!strings.HasPrefix(labels[bakery.LabelRecipe], strings.TrimPrefix(first[0].Ref, "aibox/agent:")) {
		t.Errorf("labels: %v", labels)
	}
	again := bake(t, k, "agent")
	if !again[0].Reused || again[0].Image.ID != first[0].Image.ID || len(fake.Builds()) != 2 {
		t.Errorf("second bake: %+v after %d builds", again[0], len(fake.Builds()))
	}
	if found, err := k.Find(t.Context(), "agent"); err != nil || found.ID != first[0].Image.ID {
		t.Errorf("find: %v, %v", found, err)
	}
}

func TestEveryPartOfARecipeChangesTheReference(t *testing.T) {
	ref := func(from fstest.MapFS, o bakery.Options) string {
		return bake(t, builder(t, reachable(), from, o), "agent")[0].Ref
	}
	version, _ := bakery.ParseVersion("9.9.9")
	otherAgent, otherBase := files(), files()
	otherAgent["agent.Dockerfile"].Data = append(otherAgent["agent.Dockerfile"].Data, "RUN more\n"...)
	otherBase["base.Dockerfile"].Data = append(otherBase["base.Dockerfile"].Data, "RUN more\n"...)
	seen := map[string]string{}
	for name, got := range map[string]string{
		"plain":      ref(files(), bakery.Options{}),
		"dockerfile": ref(otherAgent, bakery.Options{}),
		"parent":     ref(otherBase, bakery.Options{}),
		"version":    ref(files(), bakery.Options{Versions: map[string]bakery.Version{"agent": version}}),
		"certs":      ref(files(), bakery.Options{Host: bakery.Host{Certs: []bakery.Cert{{Fingerprint: strings.Repeat("a", 64)}}}}),
		"registry":   ref(files(), bakery.Options{Host: bakery.Host{Registry: "https://packages.example/npm/"}}),
		"arch":       ref(files(), bakery.Options{Host: bakery.Host{Arch: "riscv64"}}),
		"base":       ref(files(), bakery.Options{Base: "mine:latest"}),
	} {
		if other, twice := seen[got]; twice {
			t.Errorf("%s and %s are both %s", name, other, got)
		}
		seen[got] = name
	}
	if a, b := ref(files(), bakery.Options{}), ref(files(), bakery.Options{Host: bakery.Host{Pip: map[string]string{"PIP_INDEX_URL": "https://x.example"}}}); a != b {
		t.Errorf("a setting that the Dockerfile does not ask for changes the reference: %s, %s", a, b)
	}
	if a, b := ref(files(), bakery.Options{}), ref(files(), bakery.Options{Host: bakery.Host{Proxies: map[string]string{"HTTP_PROXY": "http://proxy:1"}}}); a != b {
		t.Errorf("a proxy changes the reference: %s, %s", a, b)
	}
}

func TestForeignImageWithTheReferenceIsNotUsed(t *testing.T) {
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{})
	first := bake(t, k, "agent")[0]
	fake.Add(first.Ref, map[string]string{bakery.LabelAgent: "agent"})
	if _, err := k.Find(t.Context(), "agent"); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("find: %v", err)
	}
	if again := bake(t, k, "agent")[0]; again.Reused {
		t.Error("the stolen reference counted as fresh")
	}
}

func TestImageOfAnEarlierRecipeIsOutdatedNotMissing(t *testing.T) {
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{})
	_, err := k.Find(t.Context(), "agent")
	if !errors.Is(err, bakery.ErrNoImage) || errors.Is(err, bakery.ErrOutdated) || !strings.Contains(err.Error(), "missing") {
		t.Errorf("before the first bake: %v", err)
	}
	bake(t, k, "agent")
	newer := files()
	newer["agent.Dockerfile"].Data = []byte(strings.Replace(agentText, "1.2.3", "1.2.4", 1))
	_, err = builder(t, fake, newer, bakery.Options{}).Find(t.Context(), "agent")
	if !errors.Is(err, bakery.ErrOutdated) || !errors.Is(err, bakery.ErrNoImage) || !strings.Contains(err.Error(), "outdated") ||
		strings.Contains(err.Error(), "no such image") || strings.Join(fault.Hints(err), "") != "aibox bake agent" {
		t.Errorf("of another recipe: %v, %q", err, fault.Hints(err))
	}
	trusting := bakery.Options{Host: bakery.Host{Certs: []bakery.Cert{{Fingerprint: "aa"}}}}
	_, err = builder(t, fake, files(), trusting).Find(t.Context(), "agent")
	if !errors.Is(err, bakery.ErrOutdated) || !strings.Contains(err.Error(), "certificates") {
		t.Errorf("with other certificates: %v", err)
	}
}

func TestCheckDistinguishesMissingCurrentAndOutdated(t *testing.T) {
	fake := reachable()
	old := builder(t, fake, files(), bakery.Options{})
	states := func(k *bakery.Bakery) string {
		all, err := k.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var out []string
		for _, s := range all {
			out = append(out, s.Name+"="+s.State.String())
		}
		return strings.Join(out, " ")
	}
	if got := states(old); got != "base=missing agent=missing" {
		t.Error(got)
	}
	bake(t, old, "agent")
	if got := states(old); got != "base=fresh agent=fresh" {
		t.Error(got)
	}
	newer := files()
	newer["agent.Dockerfile"].Data = []byte(strings.Replace(agentText, "1.2.3", "1.2.4", 1))
	k := builder(t, fake, newer, bakery.Options{})
	if got := states(k); got != "base=fresh agent=outdated" {
		t.Error(got)
	}
	if len(fake.Builds()) != 2 {
		t.Error("a check built something")
	}
}

func TestNoCacheRebuildsOnlyTheNamedImages(t *testing.T) {
	fake := reachable()
	bake(t, builder(t, fake, files(), bakery.Options{}), "agent")
	bake(t, builder(t, fake, files(), bakery.Options{NoCache: true, Needed: func(id string) bool { return id == "old" }}), "agent")
	builds := fake.Builds()
	if len(builds) != 3 || !builds[2].NoCache || !strings.HasPrefix(builds[2].Ref, "aibox/agent:") {
		t.Errorf("builds: %+v", builds)
	}
	if needed := builds[2].Needed; needed == nil || !needed("old") {
		t.Error("the build does not know which image is needed")
	}
}

func TestFailedStepIsReportedWithItsLastLines(t *testing.T) {
	fake := reachable()
	start := time.Unix(100, 0)
	fake.OnBuild = func(_ context.Context, b bakery.Build, report func(bakery.Update)) error {
		if strings.HasPrefix(b.Ref, "aibox/base:") {
			return nil
		}
		step := bakery.Step{ID: "s", Name: "[2/2] RUN  --mount=type=cache,target=/x \n npm install", Started: start}
		report(bakery.Update{Steps: []bakery.Step{step}})
		for range 30 {
			report(bakery.Update{Logs: []bakery.Log{{Step: "s", Data: []byte("noise\nmore ")}}})
		}
		step.Ended, step.Error = start.Add(time.Second), "exit code: 1"
		report(bakery.Update{
			Steps: []bakery.Step{step, {ID: "o", Name: "other", Started: start, Ended: start, Error: "context canceled"}},
			Logs:  []bakery.Log{{Step: "s", Data: []byte("\x1b[31m10%\rno \x1b]0;owned\asuch package")}},
		})
		return errors.New("process did not complete")
	}
	var got recorder
	_, err := builder(t, fake, files(), bakery.Options{}).Bake(t.Context(), []string{"agent"}, &got)
	var step *bakery.StepError
	if !errors.As(err, &step) || fault.KindOf(err) != fault.Environment {
		t.Fatalf("error: %v", err)
	}
	if len(step.Tail) != 20 || step.Tail[0] != "more noise" || !strings.Contains(step.Tail[19], "such package") || strings.HasPrefix(step.Tail[19], "10%") {
		t.Errorf("tail: %q", step.Tail)
	}
	if step.Step != "[2/2] RUN npm install" {
		t.Errorf("step: %q", step.Step)
	}
	if e := got.find(bakery.StepFailed); e == nil || e.Took != time.Second || len(e.Tail) != 20 {
		t.Errorf("event: %+v", e)
	}
	if e := got.find(bakery.ImageFailed); e == nil || e.Image != "agent" {
		t.Errorf("event: %+v", e)
	}
}

func TestCanceledBuildJobLeavesNoReference(t *testing.T) {
	fake := reachable()
	ctx, cancel := context.WithCancel(t.Context())
	fake.OnBuild = func(ctx context.Context, _ bakery.Build, _ func(bakery.Update)) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	}
	k := builder(t, fake, files(), bakery.Options{})
	if _, err := k.Bake(ctx, []string{"agent"}, nil); fault.KindOf(err) != fault.Environment && !errors.Is(err, context.Canceled) {
		t.Errorf("error: %v", err)
	} else if !errors.Is(err, context.Canceled) {
		t.Errorf("a canceled bake is not reported as one: %v", err)
	}
	if ours, _ := fake.Labeled(t.Context(), bakery.LabelRecipe); len(ours) != 0 {
		t.Errorf("left behind: %+v", ours)
	}
}

func TestFullDiskIsReportedBeforeTheBuild(t *testing.T) {
	fake := reachable()
	fake.FreeBytes = 1 << 30
	_, err := builder(t, fake, files(), bakery.Options{}).Bake(t.Context(), nil, nil)
	if fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "1.0 GiB are free in /var/lib/images") {
		t.Errorf("error: %v", err)
	}
	if len(fake.Builds()) != 0 {
		t.Error("built all the same")
	}
}

func TestInvalidNamesVersionsAndBasesAreUsageFaults(t *testing.T) {
	for _, text := range []string{"", "latest", "1; rm -rf /", "1$(id)", "-1", "1.0 ", "1\n2", "1`id`", strings.Repeat("1", 65)} {
		if _, err := bakery.ParseVersion(text); fault.KindOf(err) != fault.Usage {
			t.Errorf("version %q: %v", text, err)
		}
	}
	for _, ref := range []string{"-x", "UPPER", "a b", "a;b", "a@sha256:12", "../x", "a\nb"} {
		if _, err := bakery.New(reachable(), files(), bakery.Options{Base: ref}); fault.KindOf(err) != fault.Usage {
			t.Errorf("base %q: %v", ref, err)
		}
	}
	version, err := bakery.ParseVersion("0.0.1790142911-g7618fb")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"nobody", "base", "../base", "agent.Dockerfile"} {
		if _, err := bakery.New(reachable(), files(), bakery.Options{Versions: map[string]bakery.Version{name: version}}); fault.KindOf(err) != fault.Usage {
			t.Errorf("version of %q: %v", name, err)
		}
	}
	if _, err := builder(t, reachable(), files(), bakery.Options{}).Bake(t.Context(), []string{"agnet"}, nil); fault.KindOf(err) != fault.Usage {
		t.Errorf("unknown name: %v", err)
	}
}

func TestBuildContextHasOnlyDockerfileAndCertificates(t *testing.T) {
	fake := reachable()
	cert := bakery.Cert{Fingerprint: strings.Repeat("ab", 32), PEM: []byte("cert")}
	bake(t, builder(t, fake, files(), bakery.Options{Host: bakery.Host{Certs: []bakery.Cert{cert}}}), "agent")
	var names []string
	for _, b := range fake.Builds() {
		names = append(names, contents(t, b)...)
	}
	want := "base.Dockerfile ca/ lock/ ca/aibox-abababababababab.crt agent.Dockerfile ca/ lock/"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("contexts hold %s", got)
	}
}

// contents returns the names of the files in a build's context.
func contents(t *testing.T, b bakery.Build) []string {
	t.Helper()
	var names []string
	for r := tar.NewReader(bytes.NewReader(b.Context)); ; {
		h, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, h.Name)
	}
}

func TestCustomBaseIsIdentifiedByItsContent(t *testing.T) {
	fake := &bakerytest.Fake{}
	fake.Add("mine:latest", nil)
	k := builder(t, fake, files(), bakery.Options{Base: "mine:latest"})
	first := bake(t, k, "agent")[0]
	if again := bake(t, k, "agent")[0]; !again.Reused {
		t.Error("the same base was built on twice")
	}
	fake.Add("mine:latest", nil)
	if moved := bake(t, k, "agent")[0]; moved.Reused || moved.Ref == first.Ref {
		t.Error("a name that moved to another image was not noticed")
	}
	lost := builder(t, fake, files(), bakery.Options{Base: "nowhere:1"})
	if _, err := lost.Bake(t.Context(), nil, nil); fault.KindOf(err) != fault.Environment {
		t.Errorf("a base that is not there: %v", err)
	}
}

func TestImagesOnAPackagesBaseStayInUseWhenTheRegistryReturns(t *testing.T) {
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{})
	// The system from packages is there, as after a bootstrap without registry.
	for _, ref := range bakery.BaseSourceRefs(k) {
		if ref != bakery.BaseSourceRefs(k)[0] {
			fake.Add(ref, nil)
		}
	}
	bake(t, k, "agent")
	if base := fake.Builds()[0].Args["BASE"]; base != bakery.BaseSourceRefs(k)[1] {
		t.Errorf("built on %s", base)
	}
}

func TestImagesWithoutAUseAreOutdated(t *testing.T) {
	from := files()
	b := reachable()
	k := builder(t, b, from, bakery.Options{})
	bake(t, k, "agent")
	old := map[string]string{}
	for _, name := range []string{"agent", "gone"} {
		for _, version := range []string{"1", "2", "3"} {
			old[name+version] = b.Add("aibox/"+name+":"+version, map[string]string{bakery.LabelRecipe: version, bakery.LabelAgent: name})
		}
	}
	mine := b.Add("aibox/gone:mine", map[string]string{bakery.LabelRecipe: "4", bakery.LabelAgent: "gone"})
	if err := b.Tag(t.Context(), mine, "my/own:name"); err != nil {
		t.Fatal(err)
	}
	newest := b.Add("aibox/gone:newest", map[string]string{bakery.LabelRecipe: "5", bakery.LabelAgent: "gone"})
	named := func(ref string) bool { return ref == "aibox/gone:2" || ref == old["gone3"] }
	outdated, err := k.Outdated(t.Context(), time.Now(), named)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, image := range outdated {
		ids = append(ids, image.ID)
	}
	// The newest image of agent is not up to date, and the up-to-date one is not the newest. The recipe
	// of gone does not exist.
	if want := []string{old["agent1"], old["agent2"], old["gone1"], newest}; !slices.Equal(ids, want) {
		t.Errorf("outdated are %q, not %q", ids, want)
	}
	incomplete, err := builder(t, b, from, bakery.Options{Incomplete: true}).Outdated(t.Context(), time.Now(), named)
	if err != nil || slices.ContainsFunc(incomplete, func(image bakery.Image) bool { return image.ID == newest }) || len(incomplete) != len(outdated)-1 {
		t.Errorf("if the recipe of gone may exist, outdated are %v, %v", incomplete, err)
	}
	if outdated, err := k.Outdated(t.Context(), time.Unix(0, 0), named); err != nil || len(outdated) > 0 {
		t.Errorf("young images are outdated: %v, %v", outdated, err)
	}
	b.InUse = map[string]bool{old["gone1"]: true}
	for _, image := range outdated {
		if err := k.Remove(t.Context(), image); (err != nil) != (image.ID == old["gone1"]) || err != nil && !errors.Is(err, bakery.ErrInUse) {
			t.Errorf("removing %s: got %v", image.ID, err)
		}
	}
	if left, _ := k.Outdated(t.Context(), time.Now(), named); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
	if _, err := k.Find(t.Context(), "agent"); err != nil {
		t.Errorf("the fresh image is gone: %v", err)
	}
}

func TestEarlierBaseSystemsAreOutdated(t *testing.T) {
	fake := reachable()
	k := builder(t, fake, files(), bakery.Options{Base: "my/base"})
	fake.Add("my/base", nil)
	bake(t, k, "agent") // names it as a system, too
	current := bakery.BaseSourceRefs(k)
	old := map[string]string{}
	for _, ref := range []string{"aibox/debian:earlier", "aibox/debian:session", "aibox/debian:snapshot", "aibox/debian:users", "aibox/debian:digest", "aibox/debian:pulled", current[0], current[1]} {
		old[ref] = fake.Add(ref, nil)
	}
	if err := fake.Tag(t.Context(), "aibox/debian:users", "my/own:name"); err != nil {
		t.Fatal(err)
	}
	fake.Digest("aibox/debian:earlier", "debian@sha256:1")
	fake.NamedAt("aibox/debian:pulled", time.Now()) // a bake may be about to use it
	fake.Digest("aibox/debian:digest", "example.com/system@sha256:1")
	named := func(ref string) bool { return ref == "aibox/debian:session" || ref == old["aibox/debian:snapshot"] }
	outdated, err := k.Outdated(t.Context(), time.Now(), named)
	if err != nil || len(outdated) != 1 || outdated[0].ID != old["aibox/debian:earlier"] {
		t.Fatalf("outdated are %+v, %v", outdated, err)
	}
	if young, err := k.Outdated(t.Context(), time.Unix(0, 0), named); err != nil || len(young) > 0 {
		t.Errorf("young ones are outdated: %+v, %v", young, err)
	}
	fake.InUse = map[string]bool{outdated[0].ID: true}
	if err := k.Remove(t.Context(), outdated[0]); !errors.Is(err, bakery.ErrInUse) {
		t.Errorf("removing one that a container uses: %v", err)
	}
	fake.InUse = nil
	outdated, err = k.Outdated(t.Context(), time.Now(), named)
	if err != nil || len(outdated) != 1 {
		t.Fatalf("one that a container used is not found again: %+v, %v", outdated, err)
	}
	if err := k.Remove(t.Context(), outdated[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := fake.Image(t.Context(), outdated[0].ID); !errors.Is(err, bakery.ErrNoImage) {
		t.Errorf("its digest keeps it: %v", err)
	}
}

func TestAnImageThatIsBuiltWhenTheBakeIsCanceledIsReported(t *testing.T) {
	fake := reachable()
	ctx, cancel := context.WithCancel(t.Context())
	fake.OnBuild = func(_ context.Context, b bakery.Build, _ func(bakery.Update)) error {
		if strings.HasPrefix(b.Ref, "aibox/agent:") {
			cancel()
		}
		return nil
	}
	baked, err := builder(t, fake, files(), bakery.Options{}).Bake(ctx, []string{"agent"}, nil)
	if err != nil || len(baked) != 1 || baked[0].Image.ID == "" {
		t.Errorf("%+v, %v", baked, err)
	}
}

// The API stores a template only once its image is built.
func TestAYoungImageWithoutARecipeIsNotOutdated(t *testing.T) {
	for age, want := range map[time.Duration]int{time.Minute: 0, 48 * time.Hour: 1} {
		fake := reachable()
		fake.Epoch = time.Now().Add(-age).Unix()
		fake.Add("aibox/new:1", map[string]string{bakery.LabelRecipe: "1", bakery.LabelAgent: "new"})
		outdated, err := builder(t, fake, files(), bakery.Options{}).Outdated(t.Context(), time.Now(), func(string) bool { return false })
		if err != nil || len(outdated) != want {
			t.Errorf("%v old: %v, %v", age, outdated, err)
		}
	}
}
