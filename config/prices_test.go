package config

import (
	"testing"

	"aibox/internal/fault"
)

func TestListPricesArePlausible(t *testing.T) {
	list, err := ListPrices()
	if err != nil || list.Date == "" || len(list.Models) < 3 {
		t.Fatalf("%+v, %v", list, err)
	}
	for provider, models := range list.Models {
		for model, p := range models {
			if p.Input <= 0 || p.Output <= p.Input || p.CacheRead >= p.Input || p.CacheWrite < p.Input || p.Long < 1 || p.LongOutput < 1 {
				t.Errorf("%s of %s: %+v", model, provider, p)
			}
		}
	}
}

func TestFileOfPricesIsReadStrictly(t *testing.T) {
	table, err := ParsePrices("f", []byte("[work.\"m\"]\ninput = 1\noutput = 2\n[any]\nx = {input = 0, output = 0}\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p := table.Models["work"]["m"]; p.CacheRead != 1 || p.CacheWrite != 1 || p.CacheWriteLong != 1 {
		t.Errorf("%+v", p)
	}
	if p, ok := table.Models["any"]["x"]; !ok || p != (ModelPrice{Long: 1, LongOutput: 1}) {
		t.Errorf("%+v, %t", p, ok)
	}
	for _, text := range []string{
		"[work.m]\ninput = 1", "[work.m]\ninput = 1\noutput = -1", "[work.m]\ninput = 1\noutput = nan", "[work.m]\ninput = 1\noutput = 2\ncached = 3",
		"[work.m]\ninput = \"1\"\noutput = 2", "work = 1", "[work]\nm = 1", "[work", "[work.m]\ninput = 1\noutput = inf",
	} {
		if _, err := ParsePrices("f", []byte(text)); err == nil || fault.KindOf(err) != fault.Usage {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func FuzzPrices(f *testing.F) {
	f.Add(listPrices)
	f.Add([]byte("[a.b]\ninput=1\noutput=2\nlong-from=-1"))
	f.Fuzz(func(t *testing.T, data []byte) {
		table, err := ParsePrices("f", data)
		if err != nil {
			return
		}
		for _, models := range table.Models {
			for name, p := range models {
				for _, n := range []float64{p.Input, p.Output, p.CacheRead, p.CacheWrite, p.CacheWriteLong, p.Long, p.LongOutput} {
					if !(n >= 0 && n <= 1e6) {
						t.Errorf("%s: %+v", name, p)
					}
				}
			}
		}
	})
}
