package supervisor

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

func TestOnlyReadOnlyMappingsOfTheBinaryAreReleased(t *testing.T) {
	for line, want := range map[string]bool{
		"00400000-00a00000 r-xp 00000000 08:01 123 /usr/bin/aibox":           true,
		"00a00000-01800000 r--p 00600000 08:01 123 /usr/bin/aibox":           true,
		"01800000-01900000 rw-p 01400000 08:01 123 /usr/bin/aibox":           false,
		"7f0000000000-7f0000001000 r--s 00000000 08:01 124 /usr/bin/other":   false,
		"c000000000-c000400000 r--p 00000000 00:00 0 ":                       false,
		"00400000-00400000 r-xp 00000000 08:01 123 /usr/bin/aibox":           false,
		"xyz-00400000 r-xp 00000000 08:01 123 /usr/bin/aibox":                false,
		"00400000-00a00000 r-xp 00000000 08:01 123 /usr/bin/aibox (deleted)": false,
		"": false,
	} {
		from, size, ok := readOnlyMapping(line, "/usr/bin/aibox")
		if ok != want || ok && (from == 0 || size == 0) {
			t.Errorf("%q: %x, %x, %v", line, from, size, ok)
		}
	}
}

func TestReleasingMemoryShrinksARunningProcess(t *testing.T) {
	// Pages of a program on a file system in memory, such as /tmp in Debian 13, count as
	// shared memory.
	mapped := func() int {
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		sum := 0
		for _, name := range []string{"RssFile:", "RssShmem:"} {
			_, rest, _ := strings.Cut(string(status), name)
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
		return sum
	}
	before := mapped()
	releaseMemory()
	if after := mapped(); after >= before {
		t.Errorf("%d kB of files are mapped, %d before", after, before)
	}
	if _, _, ok := readOnlyMapping("00400000-00a00000 r-xp 00000000 08:01 123 /a file", "/a file"); !ok {
		t.Error("a name with a space is not the name")
	}
}
