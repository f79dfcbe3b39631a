package run

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"aibox/internal/paths"
)

// largest is the most bytes that the choices of one repository may be.
const largest = 64 << 10

// Store remembers the last choices of each repository, in a private folder with a
// file for each. What a task says is not among them, and no secret is.
type Store struct{ dir string }

// Open opens the store in dir, which need not be there.
func Open(dir string) Store { return Store{dir} }

// stored is the form of a file.
type stored struct {
	Version    int     `json:"version"`
	Repository string  `json:"repository"`
	Draft      Request `json:"choices"`
}

const version = 1

func (s Store) file(repository string) string {
	sum := sha256.Sum256([]byte(repository))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:16])+".json")
}

// Last is what was chosen last for the repository, an absolute path or a URL. A file
// that is not what Save wrote counts as none.
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
	kept.Draft.Repository = repository
	return kept.Draft, true
}

// Save remembers the choices of d for its repository. It does not remember
// --allow-degraded, which the user gives for one run.
func (s Store) Save(d Request) error {
	d = d.Clone()
	delete(d.Settings, "allow-degraded")
	data, err := json.MarshalIndent(stored{version, d.Repository, d}, "", "  ")
	if err != nil || len(data) > largest {
		return err
	}
	if err := paths.MakePrivate(s.dir); err != nil {
		return err
	}
	return paths.WriteFile(s.file(d.Repository), append(data, '\n'))
}
