package risk

import (
	"bytes"
	"path"
	"strings"
)

// A .pth is either lines that Python runs when it starts, or the weights of a model, which PyTorch
// stores with pickle.
func isPth(f *File) bool { return strings.EqualFold(path.Ext(f.Path), ".pth") }

// imports reports whether Python runs a line of a .pth. Python reads one with NUL bytes, which git
// takes for binary, line by line, too. A line may begin after any byte that is not printable: which
// ones end a line depends on Python's version and on the locale.
func imports(f *File) bool {
	text, word := f.New.Content, []byte("import")
	for at := 0; ; {
		i := bytes.Index(text[at:], word)
		if i < 0 {
			return false
		}
		begin := at + i
		at = begin + len(word)
		first := begin == 0 || text[begin-1] < ' ' || text[begin-1] > '~'
		if first && at < len(text) && (text[at] == ' ' || text[at] == '\t') {
			return true
		}
	}
}

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
