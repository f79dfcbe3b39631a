package risk

var shellRules = []rule{
	{
		name: "direnv", title: "an environment that the shell loads", severity: High,
		runs: "the file itself", when: "on cd into the folder", by: "direnv, autoenv and the like",
		files: []string{".envrc", ".envrc.*", ".autoenv*", ".env.sh", ".rvmrc", ".in", ".out", ".enter", ".exit", ".dirrc", ".smartcd/**", ".ondir*", ".shadowenv.d/**", ".zsh-autoenv*"},
	},
	{
		name: "tool-versions", title: "tools and tasks for the folder", severity: High,
		runs: "installers, hooks and templates, and other versions of the tools", when: "on cd into the folder, or when one of the tools is started", by: "mise, asdf, rustup, nvm and the like",
		files: []string{
			".mise.toml", "mise.toml", ".mise.*.toml", "mise.*.toml", ".mise/**", "mise/**", ".config/mise/**", ".config/mise.toml", ".rtx.toml", ".rtx.*.toml", ".tool-versions", ".asdfrc", ".default-*",
			"rust-toolchain", "rust-toolchain.toml", ".nvmrc", ".node-version", ".python-version", ".python-versions", ".ruby-version", ".ruby-gemset", ".java-version", ".sdkmanrc",
			".go-version", ".terraform-version", ".bazelversion", ".volta", ".proto/**", ".prototools", ".moon/**", "pkgx.yaml", ".pkgx.yaml", "aqua.yaml", "aqua.yml", ".hermit/**", "bin/activate-hermit", ".jvmrc", ".php-version", ".swift-version", ".zigversion", "global.json",
		},
	},
	{
		name: "environment-file", title: "variables for programs of the folder", severity: Medium,
		runs: "programs, loaders and options that variables name (PATH, LD_PRELOAD, NODE_OPTIONS…)", when: "when a program of the project starts", by: "dotenv, Docker Compose, editors",
		files: []string{".env", ".env.*", "*.env", ".flaskenv", ".secrets", ".dev.vars", ".renviron"},
	},
	{
		name: "encryption-recipients", title: "who can decrypt the secrets of the folder", severity: Medium,
		runs: "nothing by itself; what you encrypt next can be read with the keys in it", when: "when a secret is encrypted again", by: "SOPS, pass, gopass, git-crypt",
		files: []string{".sops.y*ml", ".gpg-id", ".age-recipients", ".git-crypt/**"},
	},
	{
		name: "dev-container", title: "a container to work in", severity: High,
		runs: "initializeCommand on the host, everything else in a container that holds your files and keys", when: "when the folder is opened or the environment is created", by: "VS Code, Codespaces, Gitpod and the like",
		files: []string{".devcontainer/**", ".devcontainer.json", "devfile.y*ml", ".devfile.y*ml", ".gitpod.*", ".gitpod/**", ".idx/**", ".replit", "replit.nix", ".codesandbox/**", ".stackblitzrc", ".ona/**", ".project.toml", "coder.y*ml"},
	},
	{
		name: "nix", title: "an environment or a build by Nix", severity: Medium,
		runs: "the shell hooks and builders in it", when: "on nix develop, nix build, nix-shell, or on cd with direnv", by: "Nix, devenv, Devbox, Guix",
		files: []string{"*.nix", "devenv.y*ml", "devbox.json", ".flox/**", "guix.scm", "manifest.scm", ".guix-channel", "channels.scm"},
	},
	{
		name: "container-build", title: "how a container is built or started", severity: Medium,
		runs: "the commands in it, with the mounts and rights it asks for", when: "on docker build or docker compose up", by: "Docker, Podman, Buildah",
		files: []string{
			"dockerfile", "dockerfile.*", "*.dockerfile", "containerfile", "containerfile.*", "*.containerfile", "compose.y*ml", "compose.*.y*ml", "compose*.y*ml", "docker-compose*", "docker-bake.*", "podman-compose*",
			".s2i/**", "*.container", "*.kube", "project.toml", "singularity", "*.def",
		},
	},
	{
		name: "virtual-machine", title: "how a virtual machine is set up", severity: Medium,
		runs: "the Ruby code or the provisioning steps in it", when: "on vagrant up, or any vagrant command in the folder; when it is applied", by: "Vagrant, Packer, Ansible, Lima, cloud-init",
		files: []string{"vagrantfile", "*.pkr.hcl", "ansible.cfg", ".ansible.cfg", "lima.yaml", "cloud-init.y*ml", "user-data", ".lando.*", ".ddev/**", "kickstart.cfg", "*.ks"},
	},
	{
		name: "shell-startup", title: "start-up commands of a shell", severity: Medium,
		runs: "the commands in it", when: "when a shell starts, where the file is linked into the home folder", by: "the shell",
		files: []string{
			".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".profile", ".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".cshrc", ".tcshrc", ".inputrc", "config.fish", "*.fish",
			".xprofile", ".xinitrc", ".xsession", ".tmux.conf", ".tmuxinator.y*ml", ".tmuxp.*", ".screenrc", "profile.ps1", "*profile.ps1", ".config/**", ".local/**", ".ssh/**", ".gnupg/**", "*.desktop", "*.service", "*.timer", ".netrc", ".curlrc", ".wgetrc",
		},
	},
	{
		name: "process-file", title: "processes of the project", severity: Medium,
		runs: "the commands in it", when: "when the project is started", by: "foreman, Tilt, Skaffold, process-compose, pm2 and the like",
		files: []string{"procfile", "procfile.*", ".foreman", ".overmind.env", "tiltfile", "*.tiltfile", "skaffold.y*ml", "garden.y*ml", "*.garden.yml", "devspace.y*ml", "process-compose.*", "ecosystem.config.*", "supervisord.conf", "okteto.y*ml", "crontab", "*.cron", "nodemon.json", ".air.toml", "air.toml", "modd.conf"},
	},
	{
		name: "terraform", title: "what Terraform runs or loads", severity: Medium,
		runs: "the program of an external data source even on plan, provisioners, modules and providers from elsewhere", when: "on terraform or tofu init, plan or apply", by: "Terraform, OpenTofu",
		files: []string{"*.tf", "*.tf.json", "*.tofu", "*.tofu.json"}, about: "added lines with an external data source, a provisioner or a source", look: terraform,
	},
	{
		name: "infrastructure-tool", title: "settings of an infrastructure tool", severity: Medium,
		runs: "plugins, providers and hooks that it names", when: "on its next command in the folder", by: "Terraform, Terragrunt, Pulumi, Helm, Serverless and others",
		files: []string{".terraformrc", "terraform.rc", ".terraform/**", "terragrunt.hcl", "root.hcl", "pulumi.y*ml", "pulumi.*.y*ml", "helmfile.y*ml", "serverless.*", "cdk.json", "samconfig.toml", "*.tfplan", "atlantis.y*ml", ".tflint.hcl", "kustomization.y*ml", "kubeconfig", ".kube/**"},
	},
}
