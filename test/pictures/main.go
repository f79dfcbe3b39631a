// Command pictures drives the real program through all its screens in real terminals,
// small and large, dark and light, and draws what they show: for docs/pictures, and for
// people to look at. The sessions on them are real ones, made for it with rootless
// Docker and the built-in model server. It checks only that each screen comes up; it
// removes what it makes.
//
//	go run ./test/pictures [--aibox FILE] [--docs FOLDER] [--all FOLDER] [--only WORDS]
package main

import (
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
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var o options
	flag.StringVar(&o.aibox, "aibox", "bin/aibox", "`FILE` to drive")
	flag.StringVar(&o.docs, "docs", "", "`FOLDER` for the pictures of the documentation: one size, dark and light")
	flag.StringVar(&o.all, "all", "", "`FOLDER` for the pictures of all sizes")
	flag.StringVar(&o.only, "only", "", "only pictures whose name holds one of these `WORDS`, parted by commas: review, settings-80x24-dark")
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

// sizes are those of all pictures; the documentation has one of them.
var (
	sizes   = []size{{80, 24}, {120, 40}, {200, 60}}
	docSize = size{120, 40}
)

func run(ctx context.Context, o options) error {
	aibox, err := filepath.Abs(o.aibox)
	if err != nil {
		return err
	}
	// A home below the user's own: the daemon can mount it, and paths look like people's.
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	home = filepath.Join(home, "ann")
	if err := os.Mkdir(home, 0o700); err != nil {
		return fmt.Errorf("%w; remove it if an earlier run left it", err)
	}
	defer os.RemoveAll(home)
	dir, err := os.MkdirTemp("", "aibox-pictures-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	w := newWorld(aibox, home)
	fmt.Fprintln(os.Stderr, "making sessions to show")
	defer func() {
		if err := w.end(context.WithoutCancel(ctx)); err != nil {
			fmt.Fprintln(os.Stderr, "pictures:", err)
		}
	}()
	if err := w.fill(ctx); err != nil {
		return err
	}
	return errors.Join(o.pictures(ctx, w, dir)...)
}

// pictures takes all that are wanted, and gives what went wrong with each.
func (o options) pictures(ctx context.Context, w *world, dir string) (failed []error) {
	for _, v := range tour(w) {
		for _, s := range sizes {
			for _, p := range palettes {
				name := fmt.Sprintf("%s-%v-%s", v.name, s, p.name)
				if !o.wants(name) {
					continue
				}
				if ctx.Err() != nil {
					return append(failed, ctx.Err())
				}
				if err := o.picture(ctx, w, filepath.Join(dir, name), v, s, p); err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", name, err))
				}
			}
		}
	}
	return failed
}

func (o options) wants(name string) bool {
	for word := range strings.SplitSeq(o.only, ",") {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

// picture goes to one screen in a terminal of one size, and writes what it shows. The
// terminal's socket is at the path that is given.
func (o options) picture(ctx context.Context, w *world, socket string, v view, s size, p palette) error {
	files := map[string]string{}
	if o.docs != "" && s == docSize {
		files[filepath.Join(o.docs, v.name+"-"+p.name+".svg")] = ""
	}
	if o.all != "" {
		files[filepath.Join(o.all, fmt.Sprintf("%s-%v-%s.svg", v.name, s, p.name))] = ""
	}
	if len(files) == 0 {
		return nil
	}
	t, err := open(ctx, socket, s, p, w.repo("shop"), w.env, slices.Concat([]string{"env"}, v.env, []string{w.aibox}, v.args)...)
	if err != nil {
		return err
	}
	defer t.close()
	lines, err := t.follow(ctx, v.steps)
	if err != nil {
		return err
	}
	for i, line := range lines {
		lines[i] = w.named(line)
	}
	for file := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, []byte(svg(lines, s.cols, s.rows, p)), 0o644); err != nil {
			return err
		}
	}
	fmt.Fprintln(os.Stderr, v.name, s, p.name)
	return nil
}
