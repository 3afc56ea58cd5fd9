-- Slurm's plugin job_submit/lua, for sites whose jobs say something to escala in their comments. It is optional:
-- escala reads comments without it. With it a wrong one is refused by sbatch, where its author sees why, instead of being
-- logged by escala, where nobody who could correct it looks.
--
--   install -m 0644 job_submit.lua /etc/slurm/job_submit.lua    # beside slurm.conf, on the hosts of slurmctld
--   JobSubmitPlugins=lua                                        # in slurm.conf; then restart slurmctld
--
-- A site that has a job_submit.lua takes the block between the lines of dashes into it, and calls escala.submit and
-- escala.modify in its own functions. It does for Lua 5.1 to 5.4.

------------------------------------------------------------------------------------------------------------------------
escala = {}

-- What jobs of a QOS have that say nothing themselves, in the words of comments. It stands in their comment then,
-- where their owners see it. (A site that would rather not show it: escala serve --contracts.)
escala.by_qos = {
	-- long = "min-runtime=8h,checkpoint-interval=30m",
	-- scavenge = "min-runtime=0,resumable",
}

local words = "min-runtime, checkpoint-interval, restart-cost, grace, checkpoint-on-stop, resumable, estimate, team, signal"
local units = { d = 86400000, h = 3600000, m = 60000, s = 1000, ms = 1 }
local signals = {}
for name in ("HUP INT QUIT ABRT KILL ALRM TERM USR1 USR2 URG CONT STOP TSTP TTIN TTOU"):gmatch("%S+") do
	signals[name] = true
end

-- Units fall, so that 30m2h or 1h1h is seen as the slip that it is.
local function is_length(text)
	if text == "0" then return true end
	local rest, last, total = text, math.huge, 0
	while rest ~= "" do
		local number, name, more = rest:match("^([%d.]*)([dhms]*)(.*)$")
		local n, unit = tonumber(number), units[name]
		if not n or not unit or unit >= last then return false end
		total, last, rest = total + n * unit, unit, more
	end
	return text ~= "" and total <= 2 ^ 53
end

local function is_signal(text)
	local name, at = text:match("^([^@]*)@(.*)$")
	if name and not (at:match("^%d+$") and tonumber(at) <= 65535) then return false end
	name = name or text
	local how, rest = name:match("^([^:]*):(.*)$")
	if how and not how:match("^[BRbr]+$") then return false end
	name = rest or name
	if name:match("^%d+$") then return tonumber(name) >= 1 and tonumber(name) <= 64 end
	return signals[(name:upper():gsub("^SIG", ""))] == true
end

local function is_yes(text) return text == "" or text == "yes" or text == "true" end

local function wrong_length(key, value)
	if not is_length(value) then return key .. "=" .. value .. " is no length of time, such as 90m or 2h" end
end

local function wrong_yes(key, value)
	if not (is_yes(value) or value == "no" or value == "false") then return key .. "=" .. value .. " is neither yes nor no" end
end

local wrong = {
	["min-runtime"] = wrong_length, ["checkpoint-interval"] = wrong_length, ["restart-cost"] = wrong_length,
	["grace"] = wrong_length, ["estimate"] = wrong_length,
	["checkpoint-on-stop"] = wrong_yes, ["resumable"] = wrong_yes,
	["team"] = function(_, value) if value == "" then return "team= names nobody" end end,
	["signal"] = function(_, value)
		if not is_signal(value) then return "signal=" .. value .. " is no signal, such as B:USR1@90" end
	end,
}

-- parse returns what a comment says, nil where it says nothing to escala; or what is wrong with it.
function escala.parse(comment)
	local _, at = (" " .. (comment or "")):find(" escala:", 1, true)
	if not at then return nil end
	local said = {}
	for item in comment:sub(at):match("^[^ \t\n]*"):gmatch("[^,]+") do
		local key, value = item:match("^([^=]*)=(.*)$")
		key, value = key or item, value or ""
		if not wrong[key] then return nil, '"' .. key .. '" is not known; there are ' .. words end
		local what = wrong[key](key, value)
		if what then return nil, what end
		said[key] = value
	end
	return said
end

for qos, text in pairs(escala.by_qos) do
	local _, what = escala.parse("escala:" .. text)
	if what then -- else each job of this QOS would be refused for what its owner did not write
		slurm.log_error("escala: what jobs of QOS %s are to have is wrong, and is left out: %s", qos, what)
		escala.by_qos[qos] = nil
	end
end

local function refuse(what)
	slurm.log_user("escala: the comment is not understood: " .. what .. ". The job was not taken.")
	return slurm.ERROR
end

function escala.submit(job)
	local said, what = escala.parse(job.comment)
	if what then return refuse(what) end
	local text = not said and escala.by_qos[job.qos or job.default_qos or ""]
	if text then
		job.comment = (job.comment and job.comment ~= "" and job.comment .. " " or "") .. "escala:" .. text
		said = escala.parse(job.comment)
	end
	if not said then return slurm.SUCCESS end
	local resumable = said["resumable"] and is_yes(said["resumable"])
	if resumable and job.requeue == 0 and not text then
		return refuse("resumable, and --no-requeue, which says the opposite")
	end
	-- Where JobRequeue=0 a job that can go on after it was stopped would be lost all the same.
	local saves = said["checkpoint-interval"] or said["checkpoint-on-stop"] and is_yes(said["checkpoint-on-stop"])
	if (resumable or saves and not said["resumable"]) and job.requeue ~= 0 then job.requeue = 1 end
	return slurm.SUCCESS
end

function escala.modify(job)
	local _, what = escala.parse(job.comment)
	if what then return refuse(what) end
	return slurm.SUCCESS
end
------------------------------------------------------------------------------------------------------------------------

function slurm_job_submit(job_desc, part_list, submit_uid)
	return escala.submit(job_desc)
end

function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
	return escala.modify(job_desc)
end
