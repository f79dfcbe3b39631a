package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"aibox/internal/secret"
	"aibox/netguard/gateway/modelserver"
	"aibox/netguard/gateway/schema"
)

func TestAListIsKeptForAWhileAndHoldsNoKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		handler := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			_, _ = io.WriteString(w, `{"data":[{"id":"one","max_model_len":7}]}`)
		})
		u := modelserver.Server{Kind: modelserver.Scripted, Name: "x", Dialects: []schema.Dialect{schema.OpenAI}, Handler: handler, Key: secret.New("canary-0123456789")}
		cache := modelCache{filepath.Join(t.TempDir(), "models")}
		for i, step := range []struct {
			wait   time.Duration
			always bool
			asked  int
		}{{0, false, 1}, {time.Minute, false, 1}, {0, true, 2}, {modelsFresh - time.Second, false, 2}, {2 * time.Second, false, 3}, {-time.Hour, false, 3}} {
			time.Sleep(step.wait)
			list, err := cache.ask(context.Background(), u, step.always)
			if err != nil || len(list.Models) != 1 || list.Models[0].ID != "one" || list.Models[0].Context != 7 || asked != step.asked {
				t.Errorf("step %d: %+v, %v, asked %d times", i, list, err, asked)
			}
		}
		without := u
		without.Key = secret.Value{}
		if _, ok := cache.load(without); ok {
			t.Error("an answer to a key is taken without one")
		}
		data, err := os.ReadFile(cache.file(u))
		info, _ := os.Stat(cache.file(u))
		if err != nil || bytes.Contains(data, []byte("canary")) || info.Mode().Perm() != 0o600 {
			t.Errorf("%v %s %v", info.Mode(), data, err)
		}
	})
}

func TestABadFileOfTheCacheCountsAsNone(t *testing.T) {
	u := modelserver.Server{Kind: modelserver.Scripted, Name: "x"}
	for name, spoil := range map[string]func(file string) error{
		"text":    func(file string) error { return os.WriteFile(file, []byte("not JSON"), 0o600) },
		"other":   func(file string) error { return os.WriteFile(file, []byte(`{"server":"y"}`), 0o600) },
		"huge":    func(file string) error { return os.WriteFile(file, bytes.Repeat([]byte(" "), maxModels+1), 0o600) },
		"folder":  func(file string) error { return os.Mkdir(file, 0o700) },
		"symlink": func(file string) error { return os.Symlink("/dev/zero", file) },
	} {
		cache := modelCache{t.TempDir()}
		if err := spoil(cache.file(u)); err != nil {
			t.Fatal(err)
		}
		if list, ok := cache.load(u); ok {
			t.Errorf("%s: %+v", name, list)
		}
	}
}
