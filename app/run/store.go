package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"aibox/internal/paths"
)

// largest is the maximum size of one repository's file in bytes.
const largest = 64 << 10

// Store keeps the last choices for each repository, in a private folder with one file
// each. It keeps neither tasks nor secrets.
type Store struct{ dir string }

// Open opens the store in dir, which need not exist.
func Open(dir string) Store { return Store{dir} }

// stored is the form of a file.
type stored struct {
	Version    int     `json:"version"`
	Repository string  `json:"repository"`
	Request    Request `json:"choices"`
}

const version = 1

func (s Store) file(repository string) string {
	sum := sha256.Sum256([]byte(repository))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// Last returns the last choices for the repository, an absolute path or a URL. Any file
// that Save did not write is ignored.
func (s Store) Last(repository string) (Request, bool) {
	data, err := paths.ReadSmall(s.file(repository), largest)
	if err != nil {
		return Request{}, false
	}
	return decode(data, repository)
}

func decode(data []byte, repository string) (Request, bool) {
	in := json.NewDecoder(bytes.NewReader(data))
	in.DisallowUnknownFields()
	var kept stored
	if in.Decode(&kept) != nil || in.More() || kept.Version != version || kept.Repository != repository {
		return Request{}, false
	}
	kept.Request.Repository = repository
	return kept.Request, true
}

// Save stores the choices of r for its repository. It does not store --allow-degraded,
// which applies to a single run.
func (s Store) Save(r Request) error {
	r = r.Clone()
	r.Settings.Delete("allow-degraded")
	data, err := json.MarshalIndent(stored{version, r.Repository, r}, "", "  ")
	if err != nil || len(data) > largest {
		return err
	}
	if err := paths.MakePrivate(s.dir); err != nil {
		return err
	}
	return paths.WriteFile(s.file(r.Repository), append(data, '\n'))
}
