package workspace

import (
	"errors"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/gitignore"
)

// hideKeys removes private keys from the copied files. Each key gets its own glob, so that
// later steps hide it as well. The copying step has already checked the contents.
func (p *preparation) hideKeys(root int) error {
	visible := p.files[:0]
	for _, f := range p.files {
		if !f.key {
			visible = append(visible, f)
			continue
		}
		if err := p.hidePath(f.Path); err != nil {
			return err
		}
		p.keys++
		if err := removeWithFolders(root, f.Path); err != nil {
			return err
		}
	}
	p.files = visible
	slices.Sort(p.list.hidden)
	p.list.visible = slices.DeleteFunc(p.list.visible, func(path string) bool { return p.list.absent[path] })
	return nil
}

// hideFormerKeys hides the private keys that the last commit has and the user's files do not have. A
// file that has replaced one is visible.
func (p *preparation) hideFormerKeys(keys []string) error {
	if len(keys) == 0 {
		return nil
	}
	replaced := make(map[string]bool, len(p.files))
	for _, f := range p.files {
		replaced[f.Path] = !f.gone
	}
	for _, path := range keys {
		if replaced[path] {
			continue
		}
		if err := p.hidePath(path); err != nil {
			return err
		}
	}
	slices.Sort(p.list.hidden)
	return nil
}

// hidePath hides one more file, with a glob of its own.
func (p *preparation) hidePath(path string) error {
	word := gitignore.Literal(p.src.prefix + path)
	pattern, err := gitignore.ParseWord(word)
	if err != nil {
		return err
	}
	p.hide.add(word, pattern)
	p.ws.Hide = append(slices.Clip(p.ws.Hide), word)
	p.list.hidden = append(p.list.hidden, path)
	p.list.absent[path] = true
	return nil
}

// removeWithFolders removes a file of the copy, and then its folders that have become empty.
func removeWithFolders(root int, path string) error {
	for flags := 0; path != "."; flags, path = unix.AT_REMOVEDIR, folderOf(path) {
		dir, err := openDir(root, folderOf(path))
		if err != nil {
			return err
		}
		err = unix.Unlinkat(dir, path[strings.LastIndexByte(path, '/')+1:], flags)
		unix.Close(dir)
		if flags != 0 && (errors.Is(err, unix.ENOTEMPTY) || errors.Is(err, unix.EEXIST)) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}
