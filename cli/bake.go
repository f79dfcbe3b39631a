package cli

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"aibox/bakery"
	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/internal/spelling"
	"aibox/internal/termtext"

	"github.com/spf13/cobra"
)

// bakeOptions are the flags of `aibox bake`.
type bakeOptions struct {
	*cli

	all, noCache, check, json bool
	versions                  []string
	base                      string
}

func newBakeCommand(a *cli) *cobra.Command {
	o := bakeOptions{cli: a}
	cmd := &cobra.Command{
		Use:   "bake [AGENT|TEMPLATE…]",
		Short: "Build the images of agents and templates",
		Long: `Build the images that agents run in and sandboxes are made from, and their base image.
An image whose recipe has not changed is not built again.

Agents are installed from lock files that ship with aibox, so a package that changed
on its registry fails the build. --check lists what has no checksum: agents in a
version other than aibox's default (--version), and your own recipes.`,
		Example: `  aibox bake codex
  aibox bake code
  aibox bake --all
  aibox bake --version codex=0.169.0 codex
  aibox bake --check`,
		ValidArgsFunction: a.complete.recipes,
		RunE:              func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	f := cmd.Flags()
	f.BoolVar(&o.all, "all", false, "build the images of all agents")
	f.BoolVar(&o.noCache, "no-cache", false, "rebuild images even if their recipes have not changed")
	f.BoolVar(&o.check, "check", false, "list the images to build and their unpinned parts, and build nothing")
	f.StringArrayVar(&o.versions, "version", nil, "use another version of an agent (`AGENT=VERSION`)")
	f.StringVar(&o.base, "base", "", "use the base image `REF` instead of aibox's Debian")
	f.BoolVar(&o.json, "json", false, "print JSON")
	return cmd
}

func (o *bakeOptions) run(ctx context.Context, names []string) error {
	o.warnBrokenAgents()
	switch {
	case o.all && len(names) > 0:
		return fault.New(fault.Usage, "--all and %q cannot be used together", names[0]).Hint("keep one of them")
	case len(names) == 0 && !o.all && !o.check:
		return fault.New(fault.Usage, "no agent or template was given").Hint("name one, such as `aibox bake codex`, or use --all")
	}
	images, err := o.images(names)
	if err != nil {
		return err
	}
	if o.all && !o.check {
		names, images = o.app.Agents().Names(), o.agentImages()
	}
	versions, err := parseVersions(o.versions)
	if err != nil {
		return err
	}
	options, err := o.app.BuildOptions()
	if err != nil {
		return err
	}
	maps.Copy(options.Versions, versions)
	options.Base, options.NoCache = cmp.Or(o.base, options.Base), o.noCache
	builder, err := o.app.BuilderWith(ctx, options)
	if err != nil {
		return err
	}
	if o.check {
		return o.checkImages(ctx, builder, images, o.json)
	}
	o.noteClouds(names)
	baked, err := o.bakeWith(ctx, builder, images)
	printed := o.print(baked)
	switch {
	case err == nil:
		o.printUnsaved()
		return printed
	case ctx.Err() != nil:
		return fault.New(fault.Interrupted, "interrupted; finished images are kept, unfinished ones were removed")
	default:
		return o.app.DaemonFault(ctx, err)
	}
}

// noteClouds names the agents that need their vendor's servers.
func (o *bakeOptions) noteClouds(names []string) {
	for _, name := range names {
		agent, err := o.app.Agents().Find(name)
		if err != nil {
			continue // an image without an agent
		}
		if info := agent.Info(); info.OwnCloud {
			fmt.Fprintf(o.err, "%s: note: %s talks to its vendor's servers (%s), where aibox does not see its traffic\n", name, info.Title, strings.Join(info.Hosts, ", "))
		}
	}
}

// print prints the images that were baked, also if a later one failed.
func (o *bakeOptions) print(baked []bakery.Baked) error {
	if o.json {
		return printJSON(o.out, append([]bakery.Baked{}, baked...))
	}
	for _, image := range baked {
		fmt.Fprintln(o.out, image.Ref)
	}
	return nil
}

// printUnsaved prints the settings that make runs use images baked with other versions or
// another base.
func (o *bakeOptions) printUnsaved() {
	own, err := o.app.UserSettings()
	if err != nil {
		return
	}
	var unsaved []string
	for _, pair := range o.versions {
		if image, version, _ := strings.Cut(pair, "="); own.Versions[image] != version {
			unsaved = append(unsaved, fmt.Sprintf("aibox config set images.versions.%s %s", image, version))
		}
	}
	if o.base != "" && o.base != own.Images.Base {
		unsaved = append(unsaved, "aibox config set images.base "+o.base)
	}
	for _, command := range unsaved {
		fmt.Fprintf(o.err, "%s run `%s` to use it\n", o.errTerm.faint("→"), safe(command))
	}
}

// bakeWith bakes with progress on the error stream.
func (c *console) bakeWith(ctx context.Context, builder *bakery.Bakery, names []string) ([]bakery.Baked, error) {
	if !c.errTerm.interactive {
		return builder.Bake(ctx, names, bakery.PlainProgress(c.err))
	}
	progress := bakery.TerminalProgress(c.err, func() int { return c.errTerm.width })
	baked, err := builder.Bake(ctx, names, progress)
	progress.Close()
	return baked, err
}

// images returns the images of the named agents and templates, each once. It also accepts
// "base".
func (o *bakeOptions) images(names []string) ([]string, error) {
	var images []string
	seen := map[string]bool{}
	for _, name := range names {
		image, err := o.image(name)
		if err != nil {
			return nil, err
		}
		if !seen[image] {
			seen[image], images = true, append(images, image)
		}
	}
	return images, nil
}

// image returns the image of an agent or a template.
func (o *bakeOptions) image(name string) (string, error) {
	if name == bakery.Base {
		return name, nil
	}
	known := o.app.Templates() // each agent has one
	found, err := known.Find(name)
	switch {
	case err == nil && found.Image.Recipe == "":
		return "", fault.New(fault.Usage, "the template %q uses the image %s, which aibox does not build", name, found.Image.Reference)
	case err == nil:
		return found.Image.Recipe, nil
	case fault.KindOf(err) != fault.NotFound:
		return "", err
	}
	if err := o.app.Agents().Broken(name); err != nil {
		return "", err
	}
	names := o.app.Agents().Names()
	for _, t := range known.List() {
		if !slices.Contains(names, t.Name) {
			names = append(names, t.Name)
		}
	}
	unknown := fault.New(fault.Usage, "there is no agent or template %q", name)
	if near := spelling.Nearest(name, names); near != "" {
		unknown = unknown.Hint("did you mean %q?", near)
	}
	return "", unknown.Hint("the agents and templates are %s", strings.Join(names, ", "))
}

// agentImages returns the images of all agents.
func (o *bakeOptions) agentImages() []string {
	images := []string{bakery.Base}
	for _, agent := range o.app.Agents().All() {
		if image := agent.Info().Image; !slices.Contains(images, image) {
			images = append(images, image)
		}
	}
	return images
}

func parseVersions(pairs []string) (map[string]bakery.Version, error) {
	versions := map[string]bakery.Version{}
	for _, pair := range pairs {
		name, text, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fault.New(fault.Usage, "--version %q is not AGENT=VERSION", pair)
		}
		version, err := bakery.ParseVersion(text)
		if err != nil {
			return nil, err
		}
		versions[name] = version
	}
	return versions, nil
}

func (o *bakeOptions) checkImages(ctx context.Context, builder *bakery.Bakery, names []string, asJSON bool) error {
	states, err := builder.Check(ctx, names...)
	if err != nil {
		return o.app.DaemonFault(ctx, err)
	}
	if asJSON {
		return printJSON(o.out, states)
	}
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		rows = append(rows, []string{s.Name, s.State.String(), s.Version, yesNo(s.Pinned), sizeText(s.Image.Size), termtext.Escape(s.Ref)})
	}
	if err := table(o.out, "IMAGE\tSTATE\tVERSION\tPINNED\tSIZE\tREFERENCE", rows); err != nil {
		return err
	}
	o.printUnpinned(states)
	return nil
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// printUnpinned lists what a bake would download without a checksum.
func (o *bakeOptions) printUnpinned(states []bakery.Status) {
	heading := "\nNot pinned by checksum:\n"
	for _, s := range states {
		for _, what := range s.Unpinned {
			fmt.Fprintf(o.out, "%s  %s: %s\n", heading, s.Name, termtext.Escape(what))
			heading = ""
		}
	}
}

// sizeText returns the size of an image; empty if it is unknown.
func sizeText(bytes int64) string {
	if bytes == 0 {
		return ""
	}
	return amount.Bytes(bytes)
}
