package docker

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"
	"testing/fstest"

	"aibox/bakery"
)

// lines collects the output of a bake's steps.
type lines struct{ strings.Builder }

func (l *lines) Handle(e bakery.Event) {
	if e.Kind == bakery.StepLine {
		l.WriteString(e.Text + "\n")
	}
}

// TestRecipeCannotPoisonAnothersCache bakes a recipe that writes into the caches
// that another one mounts, by the same id, by a target without an id, and by the id of
// the base.
func TestRecipeCannotPoisonAnothersCache(t *testing.T) {
	b := daemon(t)
	system, id := system(t, b), "aibox-test-"+strings.ToLower(rand.Text())
	write := func(word string) string {
		word += " " + id // otherwise the daemon reuses a step from an earlier run of these tests
		return `RUN --mount=type=cache,id=` + id + `,target=/cache,sharing=locked ["/probe", "write", "/cache/f", "` + word + `"]` + "\n" +
			`RUN --mount=type=cache,target=/` + id + ` ["/probe", "write", "/` + id + `/f", "` + word + `"]` + "\n"
	}
	k, err := bakery.New(b, fstest.MapFS{
		"base.Dockerfile":         {Data: []byte("ARG BASE\nFROM ${BASE}\n" + write("base"))},
		id + "-evil.Dockerfile":   {Data: []byte("ARG BASE\nFROM ${BASE}\n" + write("poison"))},
		id + "-victim.Dockerfile": {Data: []byte("ARG BASE\nFROM ${BASE}\n" + write("mine"))},
	}, bakery.Options{Base: system})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the name of an image given as the base
		image, _ := b.Image(context.Background(), system)
		for _, ref := range image.Refs {
			remove(b, ref)
		}
	})
	bake := func(name string) string {
		var lastStep lines
		done, err := k.Bake(t.Context(), []string{name}, &lastStep)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { remove(b, done[0].Ref) })
		return lastStep.String()
	}
	base := bake("base")
	bake(id + "-evil")
	victim := bake(id + "-victim")
	if strings.Count(base, "before: \n") != 2 || strings.Count(victim, "before: \n") != 2 {
		t.Errorf("a recipe sees the caches of others:\nbase:\n%svictim:\n%s", base, victim)
	}
}
