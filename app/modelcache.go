package cli

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"path/filepath"
	"time"

	"aibox/internal/paths"
	"aibox/netguard/gateway"
)

const (
	modelsFresh = 5 * time.Minute
	maxModels   = 4 << 20 // bytes of one file
)

// modelCache keeps what model servers said of their models, one file a server, so
// that a shell's completion need not wait for them. It never holds a key, nor
// anything made of one: a server with a key and one without are told apart by that
// alone. A run does not use it.
type modelCache struct{ dir string }

// modelList is one server's answer.
type modelList struct {
	Server  string          `json:"server"`
	Address string          `json:"address,omitempty"`
	Asked   time.Time       `json:"asked"`
	Models  []gateway.Model `json:"models"`
}

// fresh reports whether the answer is as good as a new one.
func (l modelList) fresh() bool {
	age := time.Since(l.Asked)
	return age >= 0 && age < modelsFresh
}

func openModelCache() (modelCache, error) {
	dirs, err := paths.Default()
	return modelCache{filepath.Join(dirs.Cache, "models")}, err
}

func (c modelCache) file(u gateway.Upstream) string {
	root := ""
	if u.URL != nil {
		root = u.URL.String()
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %q %q %t", u.Kind, u.Name, root, !u.Key.Empty()))
	return filepath.Join(c.dir, hex.EncodeToString(sum[:16])+".json")
}

// load is the last answer, however old. A file that is not what save wrote counts as
// none.
func (c modelCache) load(u gateway.Upstream) (modelList, bool) {
	data, err := paths.ReadSmall(c.file(u), maxModels)
	if err != nil {
		return modelList{}, false
	}
	var list modelList
	err = json.Unmarshal(data, &list)
	return list, err == nil && list.Server == u.Name
}

// save keeps an answer and returns it.
func (c modelCache) save(u gateway.Upstream, models []gateway.Model) (modelList, error) {
	list := modelList{Server: u.Name, Address: u.Address(), Asked: time.Now().UTC().Truncate(time.Second), Models: models}
	data, err := json.Marshal(list)
	if err != nil || len(data) > maxModels {
		return list, err
	}
	if err := paths.MakePrivate(c.dir); err != nil {
		return list, err
	}
	return list, paths.WriteFile(c.file(u), data)
}
