package app

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"aibox/internal/paths"
	"aibox/netguard/gateway/modelserver"
)

const (
	modelsFresh = 5 * time.Minute
	maxModels   = 4 << 20 // bytes of one file
)

// modelCache keeps the model lists of servers, one file per server, so that shell
// completion does not have to wait for them. It never contains a key or data derived from
// one: the name of a file depends only on whether there is a key. Runs do not use the
// cache.
type modelCache struct{ dir string }

// ModelList is one server's answer, and part of the JSON of `aibox models`.
type ModelList struct {
	Server  string              `json:"server"`
	Address string              `json:"address,omitempty"`
	Asked   time.Time           `json:"asked"`
	Models  []modelserver.Model `json:"models"`
}

// fresh reports whether the answer is recent enough to be used instead of a new one.
func (l ModelList) fresh() bool {
	age := time.Since(l.Asked)
	return age >= 0 && age < modelsFresh
}

func openModelCache() (modelCache, error) {
	dirs, err := paths.Default()
	return modelCache{filepath.Join(dirs.Cache, "models")}, err
}

func (c modelCache) file(u modelserver.Server) string {
	root := ""
	if u.URL != nil {
		root = u.URL.String()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %t", u.Kind, u.Name, root, u.HasKey()))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+".json")
}

// load returns the last answer, of any age. A file that save did not write counts as none.
func (c modelCache) load(u modelserver.Server) (ModelList, bool) {
	data, err := paths.ReadSmall(c.file(u), maxModels)
	if err != nil {
		return ModelList{}, false
	}
	var list ModelList
	err = json.Unmarshal(data, &list)
	return list, err == nil && list.Server == u.Name
}

// save stores an answer and returns it.
func (c modelCache) save(u modelserver.Server, models []modelserver.Model) (ModelList, error) {
	list := ModelList{Server: u.Name, Address: u.Address(), Asked: time.Now().UTC().Truncate(time.Second), Models: models}
	data, err := json.Marshal(list)
	if err != nil || len(data) > maxModels {
		return list, err
	}
	if err := paths.MakePrivate(c.dir); err != nil {
		return list, err
	}
	return list, paths.WriteFile(c.file(u), data)
}

// ask returns the server's list: a fresh answer from the cache, unless refresh is set.
func (c modelCache) ask(ctx context.Context, u modelserver.Server, refresh bool) (ModelList, error) {
	if list, ok := c.load(u); ok && list.fresh() && !refresh {
		return list, nil
	}
	models, err := modelserver.Models(ctx, u)
	if err != nil {
		return ModelList{}, err
	}
	list, _ := c.save(u, models) // a cache that cannot be written only costs time
	return list, nil
}
