package risk

import (
	"path"
	"regexp"
	"strings"
)

// A .pth is either lines that Python runs when it starts, or the weights of a model, which PyTorch
// stores with pickle.
func isPth(f *File) bool { return strings.EqualFold(path.Ext(f.Path), ".pth") }

// importLine matches a line that Python runs. A line may begin after any character that is not
// printable: which ones end a line depends on Python's version and on the locale.
var importLine = lazy(func() *regexp.Regexp { return regexp.MustCompile(`(^|[^ -~])import[ \t]`) })

// imports reports whether Python runs a line of a .pth. Python reads one with NUL bytes, which git
// takes for binary, line by line, too.
func imports(f *File) bool { return importLine().Match(f.New.Content) }

func startsPython(r *rule, f *File) []Risk {
	if isPth(f) && f.Binary && !f.New.Cut && !imports(f) {
		return nil
	}
	return r.one(f.first(), "")
}

func pickled(r *rule, f *File) []Risk {
	if isPth(f) && !f.New.Cut && (!f.Binary || imports(f)) {
		return nil
	}
	return r.one(f.first(), "")
}
