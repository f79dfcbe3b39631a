package e2b

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"

	"connectrpc.com/connect"
	"google.golang.org/protobuf/proto"

	aiboxv1 "aibox/api/aibox/v1"
	"aibox/api/budget"
	"aibox/api/e2b/filesystempb"
)

// filesystem serves the files of a sandbox.
type filesystem struct {
	api     *backend
	watches *watchers
}

// Stat describes a file. A symlink is described, not followed.
func (f *filesystem) Stat(ctx context.Context, r *connect.Request[filesystempb.StatRequest]) (*connect.Response[filesystempb.StatResponse], error) {
	entry, err := f.stat(ctx, r.Msg.Path)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystempb.StatResponse{Entry: entry}), nil
}

func (f *filesystem) stat(ctx context.Context, name string) (*filesystempb.EntryInfo, error) {
	found, err := f.api.files.Stat(ctx, connect.NewRequest(&aiboxv1.StatFileRequest{SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: name}))
	if err != nil {
		return nil, f.api.insideError(ctx, err)
	}
	return entryInfo(found.Msg), nil
}

var entryTypes = map[aiboxv1.FileType]filesystempb.FileType{
	aiboxv1.FileType_FILE_TYPE_FILE:      filesystempb.FileType_FILE_TYPE_FILE,
	aiboxv1.FileType_FILE_TYPE_DIRECTORY: filesystempb.FileType_FILE_TYPE_DIRECTORY,
	aiboxv1.FileType_FILE_TYPE_SYMLINK:   filesystempb.FileType_FILE_TYPE_SYMLINK,
}

var modeTypes = map[aiboxv1.FileType]fs.FileMode{
	aiboxv1.FileType_FILE_TYPE_DIRECTORY: fs.ModeDir,
	aiboxv1.FileType_FILE_TYPE_SYMLINK:   fs.ModeSymlink,
}

// entryInfo describes a file in the packages' format.
func entryInfo(f *aiboxv1.FileInfo) *filesystempb.EntryInfo {
	mode := fs.FileMode(f.Mode) & fs.ModePerm
	entry := &filesystempb.EntryInfo{
		Name: f.Name, Type: entryTypes[f.Type], Path: f.Path, Size: f.SizeBytes,
		Mode: uint32(mode), Permissions: (mode | modeTypes[f.Type]).String(),
		Owner: cmp.Or(f.Owner, strconv.FormatUint(uint64(f.Uid), 10)), Group: cmp.Or(f.Group, strconv.FormatUint(uint64(f.Gid), 10)),
		ModifiedTime: f.ModifyTime,
	}
	if f.Type == aiboxv1.FileType_FILE_TYPE_SYMLINK {
		entry.SymlinkTarget = &f.Target
	}
	return entry
}

// MakeDir makes a directory with its parents. One that exists is an error, which the
// packages report as a result.
func (f *filesystem) MakeDir(ctx context.Context, r *connect.Request[filesystempb.MakeDirRequest]) (*connect.Response[filesystempb.MakeDirResponse], error) {
	existing, err := f.stat(ctx, r.Msg.Path)
	switch {
	case err == nil && existing.Type == filesystempb.FileType_FILE_TYPE_DIRECTORY:
		return nil, connect.NewError(connect.CodeAlreadyExists, errors.New("the directory exists: "+strconv.Quote(r.Msg.Path)))
	case err == nil && existing.Type != filesystempb.FileType_FILE_TYPE_SYMLINK:
		return nil, connect.NewError(connect.CodeInvalidArgument, errors.New("there is a file, and no directory, at "+strconv.Quote(r.Msg.Path)))
	case err != nil && connect.CodeOf(err) != connect.CodeNotFound:
		return nil, err
	}
	entry, err := f.makeDir(ctx, r.Msg.Path)
	if err != nil {
		return nil, err
	}
	return connect.NewResponse(&filesystempb.MakeDirResponse{Entry: entry}), nil
}

func (f *filesystem) makeDir(ctx context.Context, name string) (*filesystempb.EntryInfo, error) {
	made, err := f.api.files.MakeDir(ctx, connect.NewRequest(&aiboxv1.MakeDirRequest{SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: name}))
	if err != nil {
		return nil, f.api.insideError(ctx, err)
	}
	return entryInfo(made.Msg), nil
}

// Move moves a file or a directory. It makes the missing parents of the new path, and
// replaces a file there.
func (f *filesystem) Move(ctx context.Context, r *connect.Request[filesystempb.MoveRequest]) (*connect.Response[filesystempb.MoveResponse], error) {
	move := connect.NewRequest(&aiboxv1.MoveFileRequest{
		SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Source: r.Msg.Source, Destination: r.Msg.Destination, Overwrite: true,
	})
	moved, err := f.api.files.Move(ctx, move)
	if kindOf(err) == kindNotFound {
		if _, missing := f.stat(ctx, r.Msg.Source); missing != nil {
			return nil, missing
		}
		folder, _ := path.Split(r.Msg.Destination) // not cleaned: a part of it may be a symlink
		if _, err := f.makeDir(ctx, cmp.Or(folder, ".")); err != nil {
			return nil, err
		}
		moved, err = f.api.files.Move(ctx, connect.NewRequest(move.Msg))
	}
	if err != nil {
		return nil, f.api.insideError(ctx, err)
	}
	return connect.NewResponse(&filesystempb.MoveResponse{Entry: entryInfo(moved.Msg)}), nil
}

// Limits of a list.
const (
	maxDepth   = 64 // as of aibox's API
	maxEntries = 100_000
	pageOfList = 10_000
)

// ListDir lists a directory.
func (f *filesystem) ListDir(ctx context.Context, r *connect.Request[filesystempb.ListDirRequest]) (*connect.Response[filesystempb.ListDirResponse], error) {
	answer, token := &filesystempb.ListDirResponse{}, ""
	for first := true; first || token != ""; first = false {
		page, err := f.api.files.List(ctx, connect.NewRequest(&aiboxv1.ListFilesRequest{
			SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: r.Msg.Path,
			Depth: int32(min(max(r.Msg.Depth, 1), maxDepth)), PageSize: pageOfList, PageToken: token,
		}))
		if err != nil {
			return nil, f.api.insideError(ctx, err)
		}
		if len(answer.Entries)+len(page.Msg.Entries) > maxEntries {
			return nil, connect.NewError(connect.CodeOutOfRange, fmt.Errorf("the directory has more than the %d entries that can be listed at once: list with a smaller depth", maxEntries))
		}
		// The paths of entries can be long. The answer is encoded while all of them are in memory.
		if err := budget.Reserve(ctx, 2*int64(proto.Size(page.Msg))); err != nil {
			return nil, connect.NewError(connect.CodeResourceExhausted, fmt.Errorf("%w: list with a smaller depth, or when other calls have ended", err))
		}
		for _, entry := range page.Msg.Entries {
			answer.Entries = append(answer.Entries, entryInfo(entry))
		}
		token = page.Msg.NextPageToken
	}
	return connect.NewResponse(answer), nil
}

// Remove removes a file, or a directory with its contents. One that does not exist is no
// error.
func (f *filesystem) Remove(ctx context.Context, r *connect.Request[filesystempb.RemoveRequest]) (*connect.Response[filesystempb.RemoveResponse], error) {
	_, err := f.api.files.Remove(ctx, connect.NewRequest(&aiboxv1.RemoveFileRequest{
		SandboxId: callerOf(ctx).sandbox, User: callerOf(ctx).user, Path: r.Msg.Path, Recursive: true,
	}))
	if err != nil {
		if err = f.api.insideError(ctx, err); connect.CodeOf(err) != connect.CodeNotFound {
			return nil, err
		}
	}
	return connect.NewResponse(&filesystempb.RemoveResponse{}), nil
}
