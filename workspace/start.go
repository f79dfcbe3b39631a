package workspace

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"aibox/internal/termtext"
)

// startFolder chooses the folder that the run starts in: the one that corresponds to the
// user's working directory. It creates the folder if it has no files yet. If the folder is
// hidden or not in the commit, it adds a note and the run starts at the top.
func (p *preparation) startFolder() error {
	start := p.src.start
	if start == "" {
		return nil
	}
	instead := func(why string) {
		p.ws.Notes = append(p.ws.Notes, fmt.Sprintf("the run starts at the top, because %s %s", termtext.Escape(start), why))
	}
	if !utf8.ValidString(start) {
		instead("is not UTF-8")
		return nil
	}
	isHidden := p.hide.list.Match(start, true)
	if p.src.asIs && !isHidden {
		root, err := unix.Open(p.ws.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(root)
		if err := makeFolders(root, []string{start + "/file"}); err != nil {
			return err
		}
	}
	p.ws.Start = start
	if p.ws.StartFolder() != "" {
		return nil
	}
	p.ws.Start = ""
	switch {
	case isHidden:
		instead("is hidden from the agent")
	case p.src.asIs:
		instead("is no folder there")
	default:
		instead("is not in that commit")
	}
	return nil
}

// StartFolder returns Start, or nothing if the folder does not exist; the agent may have
// removed it. It follows no symlink.
func (w *Workspace) StartFolder() string {
	if w.Start == "" || strings.ContainsRune(w.Start, 0) {
		return ""
	}
	root, err := unix.Open(w.Path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(root)
	fd, err := unix.Openat2(root, w.Start, &unix.OpenHow{Flags: unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: confined})
	if err != nil {
		return ""
	}
	unix.Close(fd)
	return w.Start
}
