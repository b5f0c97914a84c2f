-- Cars: routers with the functions api_car_add and api_car_get, and storages that hold the cars, each
-- those of its share of the buckets. Tarantool 2.6 and later; nothing else is needed.
--
--   examples/cars/start                            two routers and two storages
--   tarantool cars.lua storage LISTEN              one storage
--   tarantool cars.lua router LISTEN STORAGE …     one router

local buckets = 3000

-- What storages do.
local storage = {}

function storage.car_add(car)
    box.space.car:insert({car.car_id, car.bucket_id, car.model})
    return true
end

function storage.car_lookup(car_id)
    local car = box.space.car:get(car_id)
    if car == nil then
        return nil
    end
    return {car_id = car.car_id, model = car.model}
end

function cars_storage()
    local car = box.schema.space.create('car', {
        format = {{'car_id', 'string'}, {'bucket_id', 'unsigned'}, {'model', 'string'}},
        if_not_exists = true,
    })
    car:create_index('pk', {parts = {'car_id'}, if_not_exists = true})
    car:create_index('bucket_id', {parts = {'bucket_id'}, unique = false, if_not_exists = true})
    rawset(_G, 'car_add', storage.car_add)
    rawset(_G, 'car_lookup', storage.car_lookup)
    box.schema.user.grant('guest', 'read,write,execute', 'universe', nil, {if_not_exists = true})
end

-- What routers do: addresses are those of the storages.
function cars_router(addresses)
    local netbox = require('net.box')
    local digest = require('digest')
    local storages = {}
    for i, address in ipairs(addresses) do
        storages[i] = netbox.connect(address, {reconnect_after = 0.1, wait_connected = false})
    end
    local function owner(bucket_id)
        return storages[math.ceil(bucket_id * #storages / buckets)]
    end
    local function bucket_of(car_id)
        return digest.crc32(car_id) % buckets + 1
    end

    -- Whatever goes wrong, the answer is one of two texts: clients must look at it.
    rawset(_G, 'api_car_add', function(car)
        local ok, added = pcall(function()
            car.bucket_id = bucket_of(car.car_id)
            return owner(car.bucket_id):call('car_add', {car}, {timeout = 10})
        end)
        if not ok or not added then
            return 'Error occured'
        end
        return 'Ok'
    end)
    rawset(_G, 'api_car_get', function(car_id)
        local ok, car = pcall(function()
            return owner(bucket_of(car_id)):call('car_lookup', {car_id}, {timeout = 10})
        end)
        if not ok then
            return nil
        end
        return car
    end)
    box.schema.user.grant('guest', 'read,write,execute', 'universe', nil, {if_not_exists = true})
end

if arg ~= nil and arg[1] ~= nil then
    local addresses = {}
    for i = 3, #arg do
        addresses[#addresses + 1] = arg[i]
    end
    box.cfg{memtx_memory = 256 * 1024 * 1024, wal_mode = 'none', log_level = 4, net_msg_max = 4096}
    if arg[1] == 'storage' then
        cars_storage()
    else
        cars_router(addresses)
    end
    box.cfg{listen = arg[2]}
end
