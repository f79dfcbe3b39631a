// Command pictures drives the real program through all its screens in pseudo-terminals,
// small and large, dark and light, and draws them. It also records a walk from a new run to
// an accepted change as an asciicast, and animates it. The sessions are real, with rootless
// Docker and the built-in model server. It checks only that each screen appears, and removes
// what it creates.
//
//	go run ./test/pictures [--aibox FILE] [--docs FOLDER] [--all FOLDER] [--only WORDS]
//
// --docs gets one size of the pictures, and the walk; --all gets all sizes. The walk's name is
// "walk".
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"aibox/test/terminal"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.aibox, "aibox", "bin/aibox", "program to drive (`FILE`)")
	flag.StringVar(&o.docs, "docs", "", "`FOLDER` for the pictures of the documentation: one size, dark and light")
	flag.StringVar(&o.all, "all", "", "`FOLDER` for the pictures of all sizes")
	flag.StringVar(&o.only, "only", "", "only pictures whose name contains one of these comma-separated `WORDS`, such as review,settings-80x24-dark")
	flag.Parse()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// options are the flags.
type options struct {
	aibox, docs, all, only string
}

// sizes are the sizes of all pictures; the documentation has one of them.
var (
	docSize = terminal.Size{Rows: 40, Cols: 120}
	sizes   = []terminal.Size{{Rows: 24, Cols: 80}, docSize, {Rows: 60, Cols: 200}}
)

func run(ctx context.Context, o options) error {
	var err error
	if o.aibox, err = filepath.Abs(o.aibox); err != nil {
		return err
	}
	if err := o.walk(ctx); err != nil {
		return err
	}
	if !o.wantsAny() {
		return nil
	}
	return o.inWorld(ctx, func(w *world) error {
		fmt.Fprintln(os.Stderr, "creating sessions to show")
		if err := w.fill(ctx); err != nil {
			return err
		}
		return errors.Join(o.pictures(ctx, w)...)
	})
}

// inWorld creates a world, calls do, and removes the world.
func (o options) inWorld(ctx context.Context, do func(*world) error) (err error) {
	// A home in the user's own, which the daemon can mount.
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	home = filepath.Join(home, "ann")
	if err := os.Mkdir(home, 0o700); err != nil {
		return fmt.Errorf("%w; remove it if an earlier run left it", err)
	}
	defer os.RemoveAll(home)
	w := newWorld(o.aibox, home)
	defer func() { err = errors.Join(err, w.end(context.WithoutCancel(ctx))) }()
	return do(w)
}

// walk records the walk once for each palette, and writes the recording and its animations.
func (o options) walk(ctx context.Context) error {
	for _, p := range palettes {
		if o.docs == "" || !o.wants("walk-"+p.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "recording the walk,", p.name)
		var cast bytes.Buffer
		err := o.inWorld(ctx, func(w *world) error {
			frames, err := recordWalk(ctx, w, p)
			if err != nil {
				return err
			}
			return writeCast(&cast, walkSize, "aibox: a new run, its review, and a branch", frames)
		})
		if err != nil {
			return fmt.Errorf("walk-%s: %w", p.name, err)
		}
		picture, err := animate(bytes.NewReader(cast.Bytes()), p)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(o.docs, "walk-"+p.name+".svg"), picture); err != nil {
			return err
		}
		if p.name == "dark" {
			err = write(filepath.Join(o.docs, "walk.cast"), cast.String())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pictures draws all that are wanted, and returns the errors.
func (o options) pictures(ctx context.Context, w *world) (failed []error) {
	for _, v := range tour(w) {
		for _, s := range sizes {
			for _, p := range palettes {
				name := pictureName(v, s, p)
				if !o.wants(name) {
					continue
				}
				if ctx.Err() != nil {
					return append(failed, ctx.Err())
				}
				if err := o.picture(ctx, w, name, v, s, p); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", name, err))
				}
			}
		}
	}
	return failed
}

// wantsAny reports whether any picture other than the walk is wanted.
func (o options) wantsAny() bool {
	return slices.ContainsFunc(tour(newWorld("", "")), func(v view) bool {
		return slices.ContainsFunc(sizes, func(s terminal.Size) bool {
			return slices.ContainsFunc(palettes, func(p palette) bool { return o.wants(pictureName(v, s, p)) })
		})
	})
}

func pictureName(v view, s terminal.Size, p palette) string {
	return fmt.Sprintf("%s-%dx%d-%s", v.name, s.Cols, s.Rows, p.name)
}

func (o options) wants(name string) bool {
	for word := range strings.SplitSeq(o.only, ",") {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// picture opens one screen in a terminal of one size, and draws it.
func (o options) picture(ctx context.Context, w *world, name string, v view, s terminal.Size, p palette) error {
	var files []string
	if o.docs != "" && s == docSize {
		files = append(files, filepath.Join(o.docs, v.name+"-"+p.name+".svg"))
	}
	if o.all != "" {
		files = append(files, filepath.Join(o.all, name+".svg"))
	}
	if len(files) == 0 {
		return nil
	}
	on, err := open(ctx, s, p, w.repo("shop"), append(slices.Clone(w.env), v.env...), append([]string{w.aibox}, v.args...)...)
	if err != nil {
		return err
	}
	defer on.Close()
	lines, err := follow(ctx, on, v.steps)
	if err != nil {
		return err
	}
	for i, line := range lines {
		lines[i] = w.named(line)
	}
	for _, file := range files {
		err = errors.Join(err, write(file, svg(lines, s.Cols, s.Rows, p)))
	}
	fmt.Fprintln(os.Stderr, name)
	return err
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}
