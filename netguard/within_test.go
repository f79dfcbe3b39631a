package netguard

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// drawnPolicy is a policy about few hosts and ports.
func drawnPolicy(t *rapid.T, label string) Policy {
	p := Policy{Mode: rapid.SampledFrom(Modes()).Draw(t, label+" mode")}
	draw := func(what string) []Rule {
		return rulesOf(rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Pattern { return drawnPattern(t, what) }), 0, 4).Draw(t, what+"s"))
	}
	p.Allow = draw(label + " allowed")
	for _, rule := range draw(label + " denied") {
		p.Deny = append(p.Deny, Rule{Pattern: rule.Pattern.denial()})
	}
	for _, rule := range draw(label + " inspected") {
		if !rule.Pattern.Restricted() {
			p.Inspect = append(p.Inspect, rule)
		}
	}
	return p
}

func TestAPolicyWithinAnotherAllowsNothingThatOneOfThemRefuses(t *testing.T) {
	var allowed int
	rapid.Check(t, func(t *rapid.T) {
		own, outer := drawnPolicy(t, "own"), drawnPolicy(t, "outer")
		within, dropped := own.Within(outer)
		isSubset(t, within, own)
		isSubset(t, within, outer)
		if len(within.Inspect) > 0 || within.Mode > outer.Mode || within.Mode > own.Mode {
			t.Fatalf("%+v", within)
		}
		if len(within.Allow)+len(dropped) != len(own.Allow) {
			t.Fatalf("%d and %d of %d entries", len(within.Allow), len(dropped), len(own.Allow))
		}
		inspects, reaches := NewMatcher(outer), NewMatcher(within)
		for _, host := range []string{"example.org", "a.example.org", "b.a.example.org", "example.net", "8.8.8.8", "user.github.io"} {
			for _, port := range []string{":443", ":80", ":22"} {
				d, err := ParseDestination(host + port)
				if err != nil {
					t.Fatal(err)
				}
				if !reaches.Decide(d).Allowed {
					continue
				}
				allowed++
				if inspects.Inspects(d) {
					t.Fatalf("%v is allowed without the inspection that the other policy has", d)
				}
			}
		}
	})
	if allowed == 0 && !testing.Short() { // otherwise too few cases match
		t.Error("nothing was allowed, so nothing was tested")
	}
}

func TestAPolicyThatIsWithinAnotherAllowsAndInspectsAsMuchAtMost(t *testing.T) {
	within := 0
	rapid.Check(t, func(t *rapid.T) {
		own, outer := drawnPolicy(t, "own"), drawnPolicy(t, "outer")
		own.Mode, outer.Mode = Allowlist, rapid.SampledFrom([]Mode{Public, Allowlist}).Draw(t, "outer mode")
		own.Deny = append(own.Deny, outer.Deny...)
		own.Allow = slices.DeleteFunc(own.Allow, func(r Rule) bool { return r.Pattern.Restricted() })
		if rapid.Bool().Draw(t, "inspects the same") {
			own.Inspect = outer.Inspect
		}
		if !own.IsWithin(outer) {
			return
		}
		isSubset(t, own, outer)
		reaches, inspects, outerInspects := NewMatcher(own), NewMatcher(own), NewMatcher(outer)
		for _, host := range []string{"example.org", "a.example.org", "b.a.example.org", "example.net", "8.8.8.8", "user.github.io"} {
			for _, port := range []string{":443", ":80", ":22"} {
				d, err := ParseDestination(host + port)
				if err != nil {
					t.Fatal(err)
				}
				if !reaches.Decide(d).Allowed {
					continue
				}
				within++
				if outerInspects.Inspects(d) && !inspects.Inspects(d) {
					t.Fatalf("%v is allowed without the inspection that the other policy has", d)
				}
			}
		}
	})
	if within == 0 && !testing.Short() {
		t.Error("nothing was allowed, so nothing was tested")
	}
}

func TestAPolicyWithinItselfIsItself(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		own := drawnPolicy(t, "own")
		own.Inspect = nil
		own.Allow = slices.DeleteFunc(own.Allow, func(r Rule) bool { return r.Pattern.Restricted() })
		if !own.Mode.HasProxy() {
			own.Allow = nil
		}
		within, dropped := own.Within(own)
		if len(dropped) > 0 {
			t.Fatalf("%v are dropped", dropped)
		}
		isSubset(t, own, within)
	})
}

func TestAnInvalidPolicyAllowsNothingWithinAnother(t *testing.T) {
	open := Policy{Mode: Public}
	for _, pair := range [][2]Policy{{{}, open}, {open, {}}, {{Mode: 9}, open}, {open, {Mode: 9}}} {
		if within, _ := pair[0].Within(pair[1]); within.Mode != None {
			t.Errorf("%v within %v has the mode %v", pair[0], pair[1], within.Mode)
		}
	}
}

// An entry that restricts requests is not in the result, whose mode may allow its host.
func TestAPolicyWithinAnotherDeniesTheHostsThatItRestricts(t *testing.T) {
	restricted := Policy{Mode: Public, Allow: rules(t, ParseAllow, "--allow", "GET https://api.example.org/a")}
	free := Policy{Mode: Public}
	for _, pair := range [][2]Policy{{restricted, free}, {free, restricted}} {
		within, _ := pair[0].Within(pair[1])
		if v := NewMatcher(within).Decide(destination(t, "api.example.org:443")); v.Allowed {
			t.Errorf("every request to the host is allowed: %v", v.Reason)
		}
	}
}
