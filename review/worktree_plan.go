package review

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
	"aibox/internal/termtext"
)

// placing is a file or symlink that is brought to its place.
type placing struct {
	path string
	mode git.Mode
	blob string
	perm uint32 // of a file that takes the place of another; 0: as the umask has it
	was  *stamp // what it takes the place of; nil: nothing may stand there
	over bool   // a folder stands there, which the delivery empties first
}

// removal is a file or symlink of the user's that goes.
type removal struct {
	path string
	was  stamp
}

// emptied is a folder that is removed when the delivery leaves nothing in it.
type emptied struct {
	Path Path   `json:"path"`
	Mode uint32 `json:"mode"`
}

// plan decides about each path. Only a failure to look is an error; what stands in
// the way is a step.
func (p *placement) plan(ctx context.Context) error {
	changes, err := p.changes(ctx)
	if err != nil {
		return err
	}
	var paths []string
	gone, goneIn, added := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		paths = append(paths, c.Path.Raw())
		switch c.Kind {
		case Deleted:
			gone[c.Path.Raw()] = true
		case Renamed:
			paths = append(paths, c.OldPath.Raw())
			gone[c.OldPath.Raw()] = true
		}
		if c.Kind == Added || c.Kind == Renamed {
			added[c.Path.Raw()] = true
		}
	}
	for path := range gone {
		for _, dir := range above(path) {
			goneIn[dir] = true
		}
	}
	if err := p.user.readAttributes(ctx, paths); err != nil {
		return err
	}
	d := &decision{placement: p, gone: gone, goneIn: goneIn, added: added, made: map[string]bool{}, kept: map[uint64]int{}}
	for _, c := range changes {
		step := WorktreeStep{Path: c.Path, From: c.OldPath}
		step.Action, err = d.decide(ctx, c)
		if why, ok := errors.AsType[clause](err); ok {
			step.Action, step.Reason = Clash, string(why)
		} else if err != nil {
			return err
		}
		p.steps = append(p.steps, step)
	}
	d.sameFile()
	slices.SortFunc(p.steps, func(a, b WorktreeStep) int { return strings.Compare(a.Path.Raw(), b.Path.Raw()) })
	if p.fresh != nil {
		err := p.fresh.End(nil)
		if p.fresh = nil; err != nil {
			return p.ownDisk("keeping what was merged", err)
		}
	}
	return d.leaveFolders()
}

// changes are what differs between the two trees.
func (p *placement) changes(ctx context.Context) ([]Change, error) {
	records, err := p.owned.Records(ctx, slices.Concat(differ, []string{"-z", "--raw", p.job.before, p.job.after})...)
	if err != nil {
		return nil, fmt.Errorf("comparing with what you have: %s", git.Message(err))
	}
	var cs ChangeSet
	_, err = cs.parseRaw(records)
	return cs.Changes, err
}

// decision is the planning of one delivery.
type decision struct {
	*placement
	gone   map[string]bool // paths that the delivery removes
	goneIn map[string]bool // the folders they lie in
	added  map[string]bool // paths that the baseline does not have
	made   map[string]bool // folders that it makes
	kept   map[uint64]int  // per inode that is to stay as it is: its step
}

// decide settles one change. The error is a clause when it is the user's side that
// stands in the way.
func (d *decision) decide(ctx context.Context, c Change) (WorktreeAction, error) {
	for _, path := range []Path{c.OldPath, c.Path} {
		if path == "" {
			continue
		}
		if why := d.user.forbids(path.Raw()); why != "" {
			return Clash, clause(why)
		}
	}
	for _, mode := range []string{c.OldMode, c.NewMode} {
		switch {
		case git.Mode(mode) == git.Submodule:
			return Clash, clause("it is a submodule")
		case git.Mode(mode) == git.Symlink && !d.user.symlinks:
			return Clash, clause("it is a symlink, and your repository keeps none (core.symlinks)")
		}
	}
	switch c.Kind {
	case Added:
		return d.create(c)
	case Deleted:
		return d.remove(c)
	case Renamed:
		return d.rename(ctx, c)
	default:
		return d.replace(ctx, c)
	}
}

// create brings a file to where the agent found none.
func (d *decision) create(c Change) (WorktreeAction, error) {
	path, mode, blob := c.Path.Raw(), git.Mode(c.NewMode), c.NewBlob
	blob, err := d.checkout(path, mode, blob)
	if err != nil {
		return Clash, err
	}
	over, same, err := d.vacant(path, mode, c.NewBlob, blob)
	if err != nil || same {
		return KeepFile, err
	}
	d.puts = append(d.puts, placing{path: path, mode: mode, blob: blob, over: over})
	return CreateFile, nil
}

// vacant checks that a file may be made at path: nothing stands there, or a folder
// that the delivery empties (over). same says that the file is there already, as one
// of the blobs.
func (d *decision) vacant(path string, mode git.Mode, blobs ...string) (over, same bool, err error) {
	if other := d.user.clashOfCase(path); other != "" {
		return false, false, clause("it differs from your " + termtext.Escape(other) + " in case only, which your disk does not tell apart")
	}
	dirs := above(path)
	if i := slices.IndexFunc(dirs, d.givesWay); i >= 0 {
		_, err := d.tree.enter(dirs[i])
		d.make(dirs[i:])
		return false, false, err
	}
	missing, err := d.tree.enter(path)
	if err != nil {
		return false, false, err
	}
	d.make(missing)
	now, err := d.tree.look(path)
	switch {
	case err != nil:
		return false, false, err
	case now.kind == 0:
		return false, false, nil
	case now.kind == unix.S_IFDIR:
		return true, false, d.clears(path)
	case (now.kind == unix.S_IFREG || now.kind == unix.S_IFLNK) && slices.Contains(blobs, now.id) && d.modeOf(now, mode) == mode:
		d.kept[now.stamp.Inode] = len(d.steps)
		return false, true, nil
	}
	return false, false, clause("a file of yours stands there already")
}

// givesWay reports whether a file stands at dir that the delivery removes.
func (d *decision) givesWay(dir string) bool {
	if !d.gone[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// gaveWay reports whether a folder is no longer one, as the agent wants it. Whether
// what stands there is right is another path's matter.
func (d *decision) gaveWay(dir string) bool {
	if !d.added[dir] {
		return false
	}
	now, err := d.tree.look(dir)
	return err == nil && now.kind != 0 && now.kind != unix.S_IFDIR
}

// make notes folders that have to be made, outer first.
func (d *decision) make(dirs []string) {
	for _, dir := range dirs {
		if !d.made[dir] {
			d.made[dir] = true
			d.placement.made = append(d.placement.made, dir)
		}
	}
}

// clears checks that the delivery leaves nothing in a folder that has to give way.
func (d *decision) clears(dir string) error {
	stranger, folders, err := d.tree.strangers(dir, func(path string) bool { return d.gone[path] || d.goneIn[path] })
	if err != nil {
		return clauseOf(err)
	}
	if stranger != "" {
		return clause("a folder of yours stands there, with " + termtext.Escape(stranger) + " in it")
	}
	for _, folder := range folders {
		d.goneIn[folder] = true
	}
	return nil
}

// modeOf is the mode of what stands there, as the user's git sees it; known is that
// of the tree.
func (d *decision) modeOf(now standing, known git.Mode) git.Mode {
	if !d.user.fileMode && now.kind == unix.S_IFREG && known != git.Symlink {
		return known
	}
	return now.mode()
}

// remove takes away a file that the agent deleted.
func (d *decision) remove(c Change) (WorktreeAction, error) {
	path, mode := c.Path.Raw(), git.Mode(c.OldMode)
	if slices.ContainsFunc(above(path), d.gaveWay) {
		return KeepFile, nil
	}
	now, err := d.tree.look(path)
	if err != nil {
		return Clash, err
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR { // a folder in its place says that it is gone, too
		return KeepFile, nil
	}
	same, err := d.unchanged(path, now, c.OldBlob, mode)
	if err != nil {
		return Clash, err
	}
	if !same || d.modeOf(now, mode) != mode {
		return Clash, clause("you changed it, and the agent deleted it")
	}
	if _, err := d.tree.enter(path); err != nil {
		return Clash, err
	}
	d.removals = append(d.removals, removal{path, now.stamp})
	return DeleteFile, nil
}

// unchanged reports whether what stands at path is the blob, line endings aside.
func (d *decision) unchanged(path string, now standing, blob string, mode git.Mode) (bool, error) {
	if (now.kind == unix.S_IFLNK) != (mode == git.Symlink) || now.kind != unix.S_IFREG && now.kind != unix.S_IFLNK {
		return false, nil
	}
	if now.id == blob || mode == git.Symlink || now.lines.crlf == 0 && now.lines.lf == 0 || now.stamp.Size > maxMerge {
		return now.id == blob, nil
	}
	s, err := d.sides(path, now, blob, blob)
	if why, ok := errors.AsType[clause](err); ok {
		return false, why
	}
	if err != nil || isBinary(s.base) || isBinary(s.yours) {
		return false, err
	}
	s, _, _ = s.normal(d.user.crlfOf(path))
	return bytes.Equal(s.base, s.yours), nil
}

// sides reads the three contents of a file. What is too large is a clause.
func (d *decision) sides(path string, now standing, base, theirs string) (s sides, err error) {
	if now.stamp.Size > maxMerge {
		return s, clause("you changed it, too, and it is too large to merge")
	}
	if s.yours, err = d.tree.content(path, now); err != nil {
		return s, err
	}
	if s.base, err = d.blobs.all(base); err != nil {
		return s, err
	}
	if s.theirs = s.base; theirs != base {
		s.theirs, err = d.blobs.all(theirs)
	}
	return s, err
}

// replace changes a file that the agent changed.
func (d *decision) replace(ctx context.Context, c Change) (WorktreeAction, error) {
	path := c.Path.Raw()
	now, err := d.tree.look(path)
	if err != nil {
		return Clash, err
	}
	if now.kind == 0 {
		return Clash, clause("you deleted it, and the agent changed it")
	}
	result, err := d.combine(ctx, path, path, now, c)
	if err != nil {
		return Clash, err
	}
	if result.blob == now.id && result.mode == d.modeOf(now, result.mode) && (now.kind == unix.S_IFLNK) == (result.mode == git.Symlink) {
		return KeepFile, nil
	}
	if _, err := d.tree.enter(path); err != nil {
		return Clash, err
	}
	result.path, result.was = path, &now.stamp
	d.puts = append(d.puts, result.placing)
	return result.action, nil
}

// rename moves a file that the agent renamed, with what the user changed in it.
func (d *decision) rename(ctx context.Context, c Change) (WorktreeAction, error) {
	from, path := c.OldPath.Raw(), c.Path.Raw()
	var now standing
	if !slices.ContainsFunc(above(from), d.gaveWay) {
		var err error
		if now, err = d.tree.look(from); err != nil {
			return Clash, err
		}
	}
	if now.kind == 0 || now.kind == unix.S_IFDIR {
		if _, same, err := d.vacant(path, git.Mode(c.NewMode), c.NewBlob); err != nil || same {
			return KeepFile, err
		}
		return Clash, clause(fmt.Sprintf("you deleted %s, and the agent renamed it", c.OldPath))
	}
	result, err := d.combine(ctx, from, path, now, c)
	if err != nil {
		return Clash, err
	}
	if _, err := d.tree.enter(from); err != nil {
		return Clash, err
	}
	over, same, err := d.vacant(path, result.mode, result.blob)
	if err != nil {
		return Clash, err
	}
	if !same {
		result.path, result.over = path, over
		d.puts = append(d.puts, result.placing)
	}
	d.removals = append(d.removals, removal{from, now.stamp})
	return result.action, nil
}

// combined is what becomes of a file that both sides know.
type combined struct {
	placing
	action WorktreeAction
}

// combine settles content and mode of a file that stands at path and goes to to.
func (d *decision) combine(ctx context.Context, path, to string, now standing, c Change) (result combined, err error) {
	base, theirs := git.Mode(c.OldMode), git.Mode(c.NewMode)
	result = combined{placing{mode: theirs, blob: c.NewBlob}, ReplaceFile}
	if now.kind != unix.S_IFREG && now.kind != unix.S_IFLNK {
		return result, clause("you put something else in its place")
	}
	if base == git.Symlink || theirs == git.Symlink || now.kind == unix.S_IFLNK {
		result.blob, err = d.combineLinks(path, to, now, c)
		return result, err
	}
	if yours := d.modeOf(now, base); yours != base && theirs == base {
		result.mode = yours
	} else if theirs != base && !d.user.fileMode {
		return result, clause("its mode changes, and your repository keeps none (core.fileMode)")
	}
	result.perm = permissions(now.stamp.Mode, result.mode)
	conversion := d.user.crlfOf(path)
	switch {
	case now.id == c.NewBlob:
		return result, nil
	case now.id == c.OldBlob && (now.lines.style() != noLines || !conversion.toCRLF):
		return result, nil
	case now.id == c.OldBlob:
		result.blob, err = d.checkout(to, theirs, c.NewBlob)
		return result, err
	}
	s, err := d.sides(path, now, c.OldBlob, c.NewBlob)
	if err != nil {
		return result, err
	}
	merged, err := d.merge(ctx, s, conversion, d.user.attrs[path]["merge"])
	if errors.Is(err, errClash) {
		return result, clause("you and the agent changed the same lines")
	}
	if err != nil {
		return result, err
	}
	if normal, _, _ := s.normal(conversion); !bytes.Equal(normal.base, normal.yours) {
		result.action = MergeFile
	}
	result.blob, err = d.keep(merged)
	return result, err
}

// combineLinks settles a symlink, or a file that becomes one or was one: they are
// taken as a whole. It returns the blob that is to stand there.
func (d *decision) combineLinks(path, to string, now standing, c Change) (string, error) {
	if now.id == c.NewBlob && now.mode() == git.Mode(c.NewMode) {
		return c.NewBlob, nil
	}
	same, err := d.unchanged(path, now, c.OldBlob, git.Mode(c.OldMode))
	if err != nil {
		return "", err
	}
	if !same {
		return "", clause("you changed it, too, and it is or becomes a symlink")
	}
	return d.checkout(to, git.Mode(c.NewMode), c.NewBlob)
}

// permissions are those of a file with the executable bits that mode wants.
func permissions(was uint32, mode git.Mode) uint32 {
	perm := was & 0o777
	switch {
	case mode == git.Executable && perm&0o100 == 0:
		perm |= perm & 0o444 >> 2
		perm |= 0o100
	case mode == git.File && was&0o100 != 0:
		perm &^= 0o111
	}
	return perm
}

// checkout is the blob that a new file gets: with the line endings that the user's
// git would give it.
func (d *decision) checkout(path string, mode git.Mode, blob string) (string, error) {
	conversion := d.user.crlfOf(path)
	if mode == git.Symlink || !conversion.toCRLF {
		return blob, nil
	}
	data, err := d.blobs.all(blob)
	if _, ok := errors.AsType[clause](err); ok {
		return blob, nil // too large to look at
	}
	if err != nil {
		return "", err
	}
	return d.keep(conversion.checkout(data))
}

// keep stores content in the repository that aibox owns.
func (d *decision) keep(data []byte) (string, error) {
	id := d.format.BlobID(data)
	if d.fresh == nil {
		d.fresh = d.start()
	}
	return id, d.fresh.Blob(int64(len(data)), bytes.NewReader(data))
}

// sameFile turns what would be kept, and is the very file that is removed under
// another spelling, into a clash: the disk does not tell the two names apart, whatever
// the repository's configuration says.
func (d *decision) sameFile() {
	for _, removal := range d.removals {
		if i, ok := d.kept[removal.was.Inode]; ok {
			d.steps[i].Action = Clash
			d.steps[i].Reason = "it is one file with your " + termtext.Escape(removal.path) + ", which goes"
		}
	}
}

// leaveFolders lists the folders that may be left empty: those above what is removed,
// unless something is put there.
func (d *decision) leaveFolders() error {
	needed := map[string]bool{}
	for _, put := range d.puts {
		for _, dir := range above(put.path) {
			needed[dir] = true
		}
	}
	may := map[string]bool{}
	for _, removal := range d.removals {
		for _, dir := range above(removal.path) {
			may[dir] = true
		}
	}
	for _, put := range d.puts {
		if !put.over {
			continue
		}
		for dir := range d.goneIn { // what it stands on, even where its files are gone already
			if dir == put.path || strings.HasPrefix(dir, put.path+"/") {
				may[dir] = true
			}
		}
	}
	for dir := range may {
		if needed[dir] {
			continue
		}
		now, err := d.tree.lstat(dir)
		if nothing(err) {
			continue
		}
		if err != nil {
			return err
		}
		d.emptied = append(d.emptied, emptied{Path(dir), now.Mode})
	}
	slices.SortFunc(d.emptied, func(a, b emptied) int {
		if deeper := strings.Count(b.Path.Raw(), "/") - strings.Count(a.Path.Raw(), "/"); deeper != 0 {
			return deeper
		}
		return strings.Compare(a.Path.Raw(), b.Path.Raw())
	})
	return nil
}
