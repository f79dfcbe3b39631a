package hostile

import "strings"

// signed is an attack through the program that checks a commit's signature, for each kind
// of signature in the commit.
func signed(key, kind string, more ...string) Attack {
	return Attack{Name: key + " for the log", Provoke: []string{"log"}, Plant: plant(func(t *trap) {
		t.config("log.showSignature", "true")
		t.config(key, t.script())
		for i := 0; i+1 < len(more); i += 2 {
			t.config(more[i], more[i+1])
		}
		head := t.ask("", "cat-file", "commit", "HEAD")
		header, message, _ := strings.Cut(head, "\n\n")
		signature := "gpgsig -----BEGIN " + kind + "-----\n \n AAAA\n -----END " + kind + "-----"
		id := t.ask(header+"\n"+signature+"\n\n"+message+"\n", "hash-object", "-t", "commit", "-w", "--stdin")
		t.git("update-ref", "HEAD", id)
	})}
}

// signatures are the attacks through what a commit claims to be signed with.
func signatures() []Attack {
	return []Attack{
		signed("gpg.program", "PGP SIGNATURE"),
		signed("gpg.openpgp.program", "PGP SIGNATURE"),
		signed("gpg.x509.program", "SIGNED MESSAGE"),
		signed("gpg.ssh.program", "SSH SIGNATURE", "gpg.ssh.allowedSignersFile", "/dev/null"),
		{Name: "gpg.ssh.defaultKeyCommand", Provoke: []string{"commit", "-qam", "x", "-S"}, Plant: plant(func(t *trap) {
			t.config("gpg.format", "ssh")
			t.config("gpg.ssh.defaultKeyCommand", t.script())
			t.touch()
		})},
	}
}
