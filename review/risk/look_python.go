package risk

import (
	"path"
	"strings"
)

// A .pth is either lines that Python runs when it starts, or the weights of a model, which PyTorch
// stores with pickle.
func isPth(f *File) bool { return strings.EqualFold(path.Ext(f.Path), ".pth") }

func startsPython(r *rule, f *File) []Risk {
	if isPth(f) && f.Binary {
		return nil
	}
	return r.one(f.first(), "")
}

func pickled(r *rule, f *File) []Risk {
	if isPth(f) && !f.Binary && !f.New.Cut {
		return nil
	}
	return r.one(f.first(), "")
}
