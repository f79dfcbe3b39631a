package custom

import (
	"encoding/json"
	"fmt"
	"strings"

	"aibox/internal/dockerfile"
)

// base is the image that every agent is built on unless its file names another.
const base = "base"

// image reads the recipe: a Dockerfile, or "" for the unchanged base.
func (r *reader) image(name string) string {
	table := r.sub("image")
	if table == nil {
		return ""
	}
	version := text(r.doc.root, "version")
	if _, whole := table["dockerfile"]; whole {
		for _, other := range []string{"from", "run"} {
			if _, ok := table[other]; ok {
				r.fail("image."+other, "%s and dockerfile cannot be used together", other).Hint = "a dockerfile is the whole recipe: keep one of them"
			}
		}
		return r.dockerfile(text(table, "dockerfile"), version)
	}
	from, runs := text(table, "from"), texts(table, "run")
	if from == "" {
		from = base
	}
	if !dockerfile.IsReference(from) {
		r.fail("image.from", "%q is not the name of an image", from).Hint = `from = "base", or a reference such as "docker.io/library/debian:bookworm-slim"`
	}
	for i, run := range runs {
		if strings.TrimSpace(run) == "" {
			r.fail(fmt.Sprintf("image.run[%d]", i), "run contains an empty script")
		}
		if len(words(run)) > maxScript {
			r.fail(fmt.Sprintf("image.run[%d]", i), "a script in run must not exceed %d bytes as JSON", maxScript).Hint = "split it, or use a dockerfile"
		}
		if strings.Contains(run, "$VERSION") && version == "" {
			r.fail(fmt.Sprintf("image.run[%d]", i), "run uses $VERSION, but the file has no version").Hint = `version = "1.2.3"   # at the top of the file`
		}
	}
	if from == base && len(runs) == 0 {
		return ""
	}
	return recipe(name, from, version, runs)
}

// maxScript limits a script, since Docker rejects lines of 64 KiB.
const maxScript = 60_000

// caches keep packages between builds, outside the image.
const caches = "--mount=type=cache,id=aibox-npm,target=/root/.npm,sharing=locked " +
	"--mount=type=cache,id=aibox-pip,target=/root/.cache/pip,sharing=locked " +
	"--mount=type=cache,id=aibox-apt,target=/var/cache/apt,sharing=locked " +
	"--mount=type=cache,id=aibox-apt-lists,target=/var/lib/apt/lists,sharing=locked "

// registries passes the user's package registries to npm and pip. Empty arguments mean
// their defaults.
const registries = "ARG NPM_REGISTRY\nARG npm_config_registry=${NPM_REGISTRY}\n" +
	"ARG PIP_INDEX_URL\nARG PIP_EXTRA_INDEX_URL\nARG PIP_PROXY\nARG PIP_TRUSTED_HOST\nARG DEBIAN_FRONTEND=noninteractive\n"

// recipe writes the Dockerfile of an agent. It encodes scripts as JSON, so that none of
// their lines can become an instruction.
func recipe(name, from, version string, runs []string) string {
	var out strings.Builder
	fmt.Fprintf(&out, "# Made of %s.toml.\nARG BASE\n", name)
	mounts := ""
	if from == base {
		from, mounts = "${BASE}", caches
	}
	fmt.Fprintf(&out, "FROM %s\n", from)
	if version != "" {
		fmt.Fprintf(&out, "ARG VERSION=%s\n", version)
	}
	out.WriteString(registries)
	for _, run := range runs {
		fmt.Fprintf(&out, "RUN %s%s\n", mounts, words("/bin/sh", "-euc", strings.TrimSpace(run)))
	}
	return out.String()
}

// words encodes a command as one line of JSON. It escapes little, to keep the build's
// progress readable, but it escapes "<", which Docker would take for a heredoc.
func words(command ...string) string {
	var out strings.Builder
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(command); err != nil {
		return "[]" // strings always encode
	}
	return strings.ReplaceAll(strings.TrimSpace(out.String()), "<", `\u003c`)
}

// dockerfile checks a whole recipe: it must start with ARG BASE, and pin the version of
// the file.
func (r *reader) dockerfile(recipe, version string) string {
	const at = "image.dockerfile"
	first := ""
	for l := range strings.Lines(recipe) {
		if l = strings.TrimSpace(l); l != "" && !strings.HasPrefix(l, "#") {
			first = l
			break
		}
	}
	switch {
	case dockerfile.HasByteOrderMark(recipe):
		r.fail(at, "the dockerfile begins with a byte order mark (BOM)").Hint = "save it as UTF-8 without one"
	case first != "ARG BASE":
		r.fail(at, "the dockerfile starts with %q instead of ARG BASE", first).Hint = "start with ARG BASE, then FROM ${BASE}: the base has what aibox needs, such as certificates and a shell"
	}
	pinned := dockerfile.Version(recipe)
	switch {
	case pinned == "":
	case version == "":
		r.fail(at, "the dockerfile pins version %s, but the file has no version", pinned).Hint = fmt.Sprintf("version = %q   # at the top of the file", pinned)
	case version != pinned:
		r.fail(at, "the dockerfile pins version %s, but version is %s", pinned, version)
	}
	return recipe
}
