package workspace

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// extractFiles writes the visible files of the starting commit into the
// workspace, byte for byte as they are stored: no filter, no line-ending rule.
func (p *preparation) extractFiles(ctx context.Context) error {
	root, err := unix.Open(p.ws.Path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(root)
	if err := makeFolders(root, p.list.visible); err != nil {
		return err
	}
	var ids bytes.Buffer
	for _, path := range p.list.visible {
		ids.WriteString(p.list.head[path].ID + "\n")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := p.src.git.Run(ctx, &ids, write, "cat-file", "--batch")
		write.CloseWithError(err)
		ended <- err
	}()
	err = p.extractAll(root, bufio.NewReaderSize(read, 256<<10))
	read.CloseWithError(io.ErrClosedPipe)
	if gitErr := <-ended; err == nil {
		err = gitErr
	}
	if err == nil {
		err = p.hideKeys(root)
	}
	return err
}

func (p *preparation) extractAll(root int, in *bufio.Reader) error {
	count := &counter{now: Progress{Stage: "copying", Total: len(p.list.visible)}, relay: p.req.Progress}
	p.files = make([]copied, len(p.list.visible))
	for i, path := range p.list.visible {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("reading objects: %w", err)
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || fields[1] != "blob" {
			return fmt.Errorf("an object of the commit is missing: %s", strings.TrimSpace(line))
		}
		size, err := strconv.ParseInt(fields[2], 10, 64)
		if err != nil {
			return err
		}
		begins, _ := in.Peek(int(min(size, largestKey)))
		key := size <= largestKey && isPrivateKey(begins) && p.hidesKeys(path)
		if p.files[i], err = extractFile(root, p.list.head[path], io.LimitReader(in, size)); err != nil {
			return err
		}
		p.files[i].key = key && p.files[i].Mode != git.Symlink
		if _, err := in.Discard(1); err != nil {
			return err
		}
		count.add(1, size)
	}
	return nil
}

// extractFile writes one file of a tree below root.
func extractFile(root int, e git.Entry, content io.Reader) (copied, error) {
	id, err := hex.DecodeString(e.ID)
	result := copied{File: File{Path: e.Path, Mode: e.Mode, Raw: string(id), Stored: string(id)}}
	if err != nil {
		return result, err
	}
	dir, err := openDir(root, folderOf(e.Path))
	if err != nil {
		return result, err
	}
	defer unix.Close(dir)
	name := e.Path[strings.LastIndexByte(e.Path, '/')+1:]
	if e.Mode == git.Symlink {
		// Linux refuses a longer target.
		if result.content, err = io.ReadAll(io.LimitReader(content, unix.PathMax+1)); err != nil {
			return result, err
		}
		err = unix.Symlinkat(string(result.content), dir, name)
	} else {
		err = extractContent(dir, name, &result, content)
	}
	if err != nil {
		return result, fmt.Errorf("writing %q: %w", e.Path, err)
	}
	var st unix.Stat_t
	err = unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW)
	result.Stat = StatOf(&st)
	return result, err
}

func extractContent(dir int, name string, result *copied, content io.Reader) error {
	perm := uint32(0o644)
	if result.Mode == git.Executable {
		perm = 0o755
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, perm)
	if err != nil {
		return err
	}
	file := os.NewFile(uintptr(fd), name)
	defer file.Close()
	if name == ".gitignore" {
		data, err := io.ReadAll(io.LimitReader(content, smallFile+1))
		if err != nil {
			return err
		}
		if len(data) <= smallFile { // as in a copy from the disk
			result.content = data
		}
		content = io.MultiReader(bytes.NewReader(data), content)
	}
	if _, err := io.Copy(file, content); err != nil {
		return err
	}
	return file.Close()
}
