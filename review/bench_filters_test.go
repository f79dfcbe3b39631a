package review_test

import (
	"os"
	"path/filepath"
)

// useLFS has the user's repository keep *.bin by the real Git LFS.
func (b *bench) useLFS() *bench {
	b.t.Helper()
	for key, value := range map[string]string{
		"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "process": "git-lfs filter-process", "required": "true",
	} {
		gitIn(b.t, b.repo, "config", "filter.lfs."+key, value)
	}
	return b
}

// useCrypt has the user's repository keep files with the filter "crypt" unreadable, by a
// program outside the repository that needs a key in its .git.
func (b *bench) useCrypt() *bench {
	b.t.Helper()
	program := filepath.Join(b.home, "crypt.sh")
	write(b.t, program, `#!/bin/sh
set -e
test "$(cat "$(git rev-parse --git-common-dir)/key")" = key
case $1 in
clean) printf 'CRYPT\0'; tr 'A-Za-z' 'N-ZA-Mn-za-m' ;;
smudge) tail -c +7 | tr 'A-Za-z' 'N-ZA-Mn-za-m' ;;
esac
`)
	must(b.t, os.Chmod(program, 0o755))
	write(b.t, b.inRepo(".git/key"), "key")
	gitIn(b.t, b.repo, "config", "filter.crypt.clean", program+" clean")
	gitIn(b.t, b.repo, "config", "filter.crypt.smudge", program+" smudge")
	gitIn(b.t, b.repo, "config", "filter.crypt.required", "true")
	return b
}
