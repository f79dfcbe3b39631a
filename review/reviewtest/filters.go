package reviewtest

import (
	"os"
	"path/filepath"
)

// UseLFS makes the user's repository store *.bin through the real Git LFS.
func (b *Fixture) UseLFS() *Fixture {
	b.T.Helper()
	for key, value := range map[string]string{
		"clean": "git-lfs clean -- %f", "smudge": "git-lfs smudge -- %f", "process": "git-lfs filter-process", "required": "true",
	} {
		GitIn(b.T, b.Repo, "config", "filter.lfs."+key, value)
	}
	return b
}

// UseCrypt makes the user's repository store files unreadably through the filter "crypt", by a
// program outside the repository that needs a key in its .git.
func (b *Fixture) UseCrypt() *Fixture {
	b.T.Helper()
	program := filepath.Join(b.Home, "crypt.sh")
	Write(b.T, program, `#!/bin/sh
set -e
test "$(cat "$(git rev-parse --git-common-dir)/key")" = key
case $1 in
clean) printf 'CRYPT\0'; tr 'A-Za-z' 'N-ZA-Mn-za-m' ;;
smudge) tail -c +7 | tr 'A-Za-z' 'N-ZA-Mn-za-m' ;;
esac
`)
	Must(b.T, os.Chmod(program, 0o755))
	Write(b.T, b.InRepo(".git/key"), "key")
	GitIn(b.T, b.Repo, "config", "filter.crypt.clean", program+" clean")
	GitIn(b.T, b.Repo, "config", "filter.crypt.smudge", program+" smudge")
	GitIn(b.T, b.Repo, "config", "filter.crypt.required", "true")
	return b
}
