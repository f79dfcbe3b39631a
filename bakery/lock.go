package bakery

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"aibox/internal/lazyregexp"
)

// Lock pins the downloads of a build by checksum: the files of locks/NAME next to the
// Dockerfiles, by name. The build context holds it in lock/.
type Lock map[string]string

// lockDir is the folder of the lock in a build context.
const lockDir = "lock/"

// The files that make a folder a lock, each of a form that its installer checks.
const (
	npmLock     = "package-lock.json" // npm ci
	pipLock     = "requirements.txt"  // pip install --require-hashes
	archiveLock = "SHA256SUMS"        // sha256sum --check, one line for each processor
)

// readLock reads the lock of an image: nil where there is none.
func readLock(files fs.FS, image string) (Lock, error) {
	dir := path.Join("locks", image)
	entries, err := fs.ReadDir(files, dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lock := Lock{}
	for _, entry := range entries {
		data, err := fs.ReadFile(files, path.Join(dir, entry.Name()))
		if err != nil {
			return nil, err
		}
		lock[entry.Name()] = string(data)
	}
	for _, name := range []string{npmLock, pipLock, archiveLock} {
		if _, ok := lock[name]; ok {
			return lock, nil
		}
	}
	return nil, nil // only the input that a lock is made from
}

// covers reports whether the lock holds the packages of a processor, named as Go names it. A
// package.json names those that it was made for, unless it was made for both.
func (l Lock) covers(arch string) bool {
	processor := map[string]string{"amd64": "x64"}[arch]
	if processor == "" {
		processor = arch
	}
	if _, npm := l[npmLock]; npm {
		var manifest struct {
			CPU []string `json:"cpu"`
		}
		err := json.Unmarshal([]byte(l["package.json"]), &manifest)
		return err == nil && (len(manifest.CPU) == 0 || slices.Contains(manifest.CPU, processor))
	}
	if sums, ok := l[archiveLock]; ok {
		return strings.Contains(sums, " "+processor+".")
	}
	return true
}

// pin gives a recipe its lock, or records why it has none. A Dockerfile that declares
// LOCKED installs from the lock unless the value is "no"; an empty value fails the
// build if the lock is missing.
func (e entry) pin(r *Recipe, pinned, arch string) {
	why := ""
	switch {
	case e.custom:
		why = "what your recipe of " + r.Name + " installs: aibox has no lock for it"
	case e.lock == nil:
		why = fmt.Sprintf("%s %s: aibox has no checksums of it", r.Name, r.Version)
	case pinned != "" && r.Version != pinned:
		why = fmt.Sprintf("%s %s: the lock is of version %s", r.Name, r.Version, pinned)
	case arch != "" && !e.lock.covers(arch):
		why = fmt.Sprintf("%s %s: the lock has no checksums for %s", r.Name, r.Version, arch)
	default:
		r.Lock = e.lock
	}
	if why != "" && (e.custom || fetches(e.dockerfile)) {
		r.Unpinned = append(r.Unpinned, why)
	}
	if declares(e.dockerfile, "LOCKED") {
		r.Args["LOCKED"] = "yes"
		if r.Lock == nil {
			r.Args["LOCKED"] = "no"
		}
	}
}

// fetches reports whether one of aibox's Dockerfiles installs from a lock.
func fetches(dockerfile string) bool {
	return declares(dockerfile, "LOCKED") || strings.Contains(dockerfile, "\nCOPY "+lockDir+" ")
}

var notPinnedLine = lazyregexp.New(`(?m)^# Not pinned: (.+)$`)

// notPinned returns the unpinned downloads that a Dockerfile declares.
func notPinned(dockerfile string) []string {
	var found []string
	for _, line := range notPinnedLine.FindAllStringSubmatch(dockerfile, -1) {
		found = append(found, line[1])
	}
	return found
}
