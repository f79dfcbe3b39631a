package doctor

import (
	"fmt"
	"slices"
	"strings"

	"aibox/bakery"
)

// MissingImagesAsOne returns findings as users see them: those of images that are not baked are
// one, in the place of the first, if there are several. No user needs every agent's image.
func MissingImagesAsOne(findings []Finding) []Finding {
	missing := func(f Finding) bool { return f.Image != "" && f.Detail == bakery.Missing.String() }
	var names []string
	for _, f := range findings {
		if missing(f) {
			names = append(names, f.Image)
		}
	}
	if len(names) < 2 {
		return findings
	}
	first := slices.IndexFunc(findings, missing)
	one := findings[first]
	one.Name, one.Fix = "images", "aibox bake NAME, for an agent that you use"
	one.Image, one.Agent = "", false
	one.Detail = fmt.Sprintf("%d are not baked: %s", len(names), strings.Join(names, ", "))
	rest := slices.DeleteFunc(slices.Clone(findings), missing)
	return slices.Insert(rest, first, one)
}
